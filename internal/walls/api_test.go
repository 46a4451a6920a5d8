package walls

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No exported API mentions a type of an internal package: another module could
// neither name nor implement it.
func TestExportedAPI(t *testing.T) {
	t.Parallel()
	public, lookup := exportData(t)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", lookup)
	for _, name := range public {
		pkg, err := imports.Import(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, breach := range internalTypes(pkg) {
			t.Errorf("%s: %s", short(name), breach)
		}
	}
	if len(public) < 10 {
		t.Errorf("only %q are public", public)
	}
}

// The test above finds internal types wherever they hide.
func TestInternalTypes(t *testing.T) {
	t.Parallel()
	_, lookup := exportData(t)
	pkg, err := importer.ForCompiler(token.NewFileSet(), "gc", lookup).Import(module + "internal/walls/testdata/leaks")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Alias: is hidden.Type", "Chan: has hidden.Type", "Embeds.Method: has hidden.Type", "Embeds: has hidden.Type", "Field.F: has hidden.Type",
		"Func: has hidden.Type", "Generic: has hidden.Type", "Interface.M: has hidden.Type", "Option.Method: has hidden.Type", "Option: has hidden.Type", "Through.Unexported: has hidden.Type", "Var: has hidden.Type",
	}
	if got := internalTypes(pkg); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// exportData returns the packages of this module that others can import, and how
// to read their types and those that they use.
func exportData(t *testing.T) (public []string, lookup importer.Lookup) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", "./...", "./internal/walls/testdata/leaks")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue // package unsafe has no file
		}
		name := fields[0]
		files[name] = fields[2]
		if strings.HasPrefix(name, module) && fields[1] != "main" && !internal(name) && !matches([]string{"gen/...", "examples/..."}, short(name)) {
			public = append(public, name)
		}
	}
	return public, func(path string) (io.ReadCloser, error) {
		if file, ok := files[path]; ok {
			return os.Open(file)
		}
		return nil, fmt.Errorf("there is no export data of %s", path)
	}
}

// internal reports whether a package of this module cannot be imported by others.
func internal(path string) bool {
	return strings.HasPrefix(path, module) && slices.Contains(strings.Split(short(path), "/"), "internal")
}

// apiWalk looks for internal types in what a package exports.
type apiWalk struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found map[string]bool
}

// internalTypes returns what a package exports that mentions internal types.
func internalTypes(pkg *types.Package) []string {
	w := &apiWalk{pkg: pkg, seen: make(map[types.Type]bool), found: make(map[string]bool)}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		if of, ok := object.(*types.TypeName); ok && of.IsAlias() {
			w.walk(name+": is", types.Unalias(of.Type()))
			continue
		}
		w.walk(name+": has", object.Type())
	}
	found := make([]string, 0, len(w.found))
	for breach := range w.found {
		found = append(found, breach)
	}
	slices.Sort(found)
	return found
}

// walk looks at a type at a place.
func (w *apiWalk) walk(place string, t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		w.named(place, t)
	case *types.Pointer:
		w.walk(place, t.Elem())
	case *types.Slice:
		w.walk(place, t.Elem())
	case *types.Array:
		w.walk(place, t.Elem())
	case *types.Chan:
		w.walk(place, t.Elem())
	case *types.Map:
		w.walk(place, t.Key())
		w.walk(place, t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.walk(place, v.Type())
		}
		for v := range t.Results().Variables() {
			w.walk(place, v.Type())
		}
		for p := range t.TypeParams().TypeParams() {
			w.walk(place, p.Constraint())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.walk(member(place, f), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(member(place, m), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(place, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.walk(place, term.Type())
		}
	}
}

// member is the place of a member of what is at a place.
func member(place string, m types.Object) string {
	name, _, _ := strings.Cut(place, ":")
	if v, ok := m.(*types.Var); ok && v.Embedded() {
		return name + ": has"
	}
	return name + "." + m.Name() + ": has"
}

func (w *apiWalk) named(place string, t *types.Named) {
	for arg := range t.TypeArgs().Types() {
		w.walk(place, arg)
	}
	pkg := t.Obj().Pkg()
	switch {
	case pkg == nil: // error
		return
	case pkg != w.pkg && internal(pkg.Path()):
		w.found[place+" "+pkg.Name()+"."+t.Obj().Name()] = true
		return
	case pkg != w.pkg || w.seen[t]:
		return // another package is looked at by itself
	}
	w.seen[t] = true
	if t.Obj().Exported() {
		place = t.Obj().Name() + ": has"
	}
	for p := range t.TypeParams().TypeParams() {
		w.walk(place, p.Constraint())
	}
	w.walk(place, t.Underlying())
	if types.IsInterface(t) {
		return
	}
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if m := method.Obj(); m.Exported() {
			w.walk(member(place, m), method.Type())
		}
	}
}
