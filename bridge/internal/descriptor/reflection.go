package descriptor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/wire"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

const (
	// maxRounds bounds how often a server is asked for further imports.
	maxRounds = 1000
	// maxSymbols bounds the types that a server is asked for because the import
	// that defines them is missing, and maxSymbolRounds how often that leads to
	// further ones.
	maxSymbols      = 2000
	maxSymbolRounds = 20
	// maxErrorBytes bounds what a server says about a service that it does not
	// describe.
	maxErrorBytes = 500
)

// The fields of grpc.reflection.v1.ServerReflectionRequest and
// ServerReflectionResponse that are used. v1alpha has the same. They are
// encoded here because the generated package would link grpc-go into every
// program that uses this one.
const (
	requestFileByName   = 3
	requestFileBySymbol = 4
	requestListServices = 7

	responseFiles    = 4 // FileDescriptorResponse{file_descriptor_proto = 1}
	responseServices = 6 // ListServiceResponse{service = 1 {name = 1}}
	responseError    = 7 // ErrorResponse{error_code = 1, error_message = 2}
)

// NoReflectionError says that a backend does not offer server reflection.
type NoReflectionError struct{ Cause error }

// Error says what to do instead.
func (e *NoReflectionError) Error() string {
	return "the backend offers no server reflection: give its descriptors by --descriptors FILE (made by `buf build -o FILE` or `protoc --include_imports --descriptor_set_out=FILE`) or its sources by --proto DIR"
}

// Unwrap returns what the backend answered.
func (e *NoReflectionError) Unwrap() error { return e.Cause }

// Reflection returns a Source that asks a backend by server reflection, v1 or
// else v1alpha. Each Load asks for each file once. A service whose files
// cannot be had is left out with a warning.
func Reflection(caller rpc.Caller) Source {
	return SourceFunc(func(ctx context.Context) (*Set, error) {
		set, err := reflect(ctx, caller, (*reflector).load)
		if err != nil {
			return nil, err
		}
		set.find = func(ctx context.Context, name protoreflect.FullName) (*Set, error) {
			return reflect(ctx, caller, func(r *reflector, ctx context.Context) (*Set, error) { return r.find(ctx, name) })
		}
		return set, nil
	})
}

// Services returns the names of the services that a backend lists by server
// reflection, sorted, without those of the infrastructure. Where it offers
// none, the error is a [*NoReflectionError].
func Services(ctx context.Context, caller rpc.Caller) ([]string, error) {
	return reflect(ctx, caller, (*reflector).services)
}

// reflect asks by the first version of server reflection that there is.
func reflect[T any](ctx context.Context, caller rpc.Caller, ask func(*reflector, context.Context) (T, error)) (answer T, err error) {
	for _, version := range []string{"v1", "v1alpha"} {
		r := &reflector{caller: caller, version: version, files: make(map[string]rawFile), maxBytes: maxSetBytes}
		if answer, err = ask(r, ctx); err == nil {
			return answer, nil
		}
		if e, ok := errors.AsType[*rpc.StatusError](err); !ok || e.Code() != code.Code_UNIMPLEMENTED {
			return answer, fmt.Errorf("server reflection: %w", err)
		}
	}
	return answer, &NoReflectionError{Cause: err}
}

type reflector struct {
	caller   rpc.Caller
	version  string
	files    map[string]rawFile
	size     int // of the files, and the most that they may have
	maxBytes int
	imported int // names of files that were asked for
	symbols  int // that were asked for because an import is missing
	warnings []string
}

func (r *reflector) load(ctx context.Context) (*Set, error) {
	names, err := r.services(ctx)
	if err != nil {
		return nil, err
	}
	names, err = r.filesOf(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := r.imports(ctx); err != nil {
		return nil, err
	}
	return r.link(names)
}

// find returns the files that define a symbol, and those that they import.
func (r *reflector) find(ctx context.Context, name protoreflect.FullName) (*Set, error) {
	r.maxBytes = maxFoundBytes
	if _, err := r.filesOf(ctx, []string{string(name)}); err != nil {
		return nil, err
	}
	if err := r.imports(ctx); err != nil {
		return nil, err
	}
	l := linkEach(slices.Collect(maps.Values(r.files)))
	return newSet(l.linked, l.types, l.digest(), nil, nil)
}

// link links all files and returns the services that could be linked: one that
// could not must not cost the others.
func (r *reflector) link(names []string) (*Set, error) {
	l := linkEach(slices.Collect(maps.Values(r.files)))
	definedIn := make(map[string]string)
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		fd := r.files[file].proto
		for _, s := range fd.GetService() {
			definedIn[strings.TrimPrefix(fd.GetPackage()+"."+s.GetName(), ".")] = file
		}
	}
	var good []string
	for _, name := range names {
		if d, err := l.linked.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			if _, ok := d.(protoreflect.ServiceDescriptor); ok {
				good = append(good, name)
				continue
			}
		}
		reason := l.failed[definedIn[name]]
		if reason == nil {
			reason = errors.New("the backend sent a file that does not define it")
		}
		r.warn(name, reason.Error())
	}
	if err := joined(l.causes); err != nil && len(good) == 0 {
		return nil, err
	}
	return newSet(l.linked, l.types, l.digest(), good, r.warnings)
}

// warn notes why a service is left out, in so many words.
func (r *reflector) warn(service, reason string) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s is left out: %s", service, reason))
}

// services asks for the names of the services.
func (r *reflector) services(ctx context.Context) ([]string, error) {
	var names []string
	err := r.ask(ctx, []request{{requestListServices, "*"}}, func(_ request, field protowire.Number, value []byte) error {
		if field == responseError {
			return fmt.Errorf("the backend lists no services: %s", errorMessage(value))
		}
		if field != responseServices {
			return nil
		}
		return eachField(value, func(n protowire.Number, service []byte) error {
			if n != 1 {
				return nil
			}
			return eachField(service, func(n protowire.Number, name []byte) error {
				if n == 1 && !IsInfrastructure(string(name)) {
					names = append(names, string(name))
				}
				if len(names) > maxFiles {
					return fmt.Errorf("the backend lists more than %d services", maxFiles)
				}
				return nil
			})
		})
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// filesOf asks for the files that define the services, and returns those
// services for which there are some.
func (r *reflector) filesOf(ctx context.Context, names []string) ([]string, error) {
	requests := make([]request, len(names))
	for i, name := range names {
		requests[i] = request{requestFileBySymbol, name}
	}
	var have []string
	err := r.ask(ctx, requests, func(q request, field protowire.Number, value []byte) error {
		switch field {
		case responseFiles:
			have = append(have, q.value)
			return r.addFiles(value)
		case responseError:
			r.warn(q.value, "the backend does not describe it: "+errorMessage(value))
		}
		return nil
	})
	return slices.Compact(have), err
}

// imports asks for files that others import until none is missing, or the
// backend has no more. A file that the backend does not have under the name that
// it is imported by is asked for by what it defines.
func (r *reflector) imports(ctx context.Context) error {
	asked := make(map[request]bool)
	for range maxSymbolRounds {
		if err := r.importsByName(ctx, asked); err != nil {
			return err
		}
		if found, err := r.importsBySymbol(ctx, asked); err != nil || !found {
			return err
		}
	}
	return nil
}

// importsByName asks for imports until there is none that has not been asked for.
func (r *reflector) importsByName(ctx context.Context, asked map[request]bool) error {
	for range maxRounds {
		var requests []request
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			for _, dep := range r.files[name].proto.GetDependency() {
				q := request{requestFileByName, dep}
				if _, ok := r.files[dep]; ok || asked[q] {
					continue
				}
				if _, err := protoregistry.GlobalFiles.FindFileByPath(dep); err == nil && strings.HasPrefix(dep, "google/protobuf/") {
					continue // the well-known types are the same everywhere
				}
				asked[q] = true
				if r.imported++; r.imported > maxFiles {
					return fmt.Errorf("the backend imports more than %d files", maxFiles)
				}
				requests = append(requests, q)
			}
		}
		if requests == nil {
			return nil
		}
		err := r.ask(ctx, requests, func(_ request, field protowire.Number, value []byte) error {
			if field == responseFiles {
				return r.addFiles(value)
			}
			return nil // relinking or a symbol may find the file
		})
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the backend names further imports after %d rounds", maxRounds)
}

// importsBySymbol asks for the files that define what is undefined, and reports
// whether there are new ones. A backend that cannot answer costs only what is
// missing anyway.
func (r *reflector) importsBySymbol(ctx context.Context, asked map[request]bool) (found bool, err error) {
	var requests []request
	for _, symbol := range r.undefined() {
		if q := (request{requestFileBySymbol, symbol}); !asked[q] && r.symbols < maxSymbols {
			asked[q] = true
			r.symbols++
			requests = append(requests, q)
		}
	}
	before := len(r.files)
	err = r.ask(ctx, requests, func(_ request, field protowire.Number, value []byte) error {
		if field == responseFiles {
			return r.addFiles(value)
		}
		return nil
	})
	if ctx.Err() != nil {
		return false, err
	}
	return err == nil && len(r.files) > before, nil
}

// undefined returns the types that files refer to and that none of them defines,
// sorted. Only files that import something missing are looked at: the types of the
// others are somewhere among their imports.
func (r *reflector) undefined() []string {
	defined := make(map[string]bool)
	for _, file := range r.files {
		for _, symbol := range symbols(file.proto) {
			defined[symbol] = true
		}
	}
	needed := make(map[string]bool)
	for _, file := range r.files {
		missing := slices.ContainsFunc(file.proto.GetDependency(), func(dep string) bool {
			_, ok := r.files[dep]
			return !ok
		})
		if !missing {
			continue
		}
		for _, symbol := range references(file.proto) {
			if !defines(defined, symbol) && !inProgram(symbol) {
				needed[symbol] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(needed))
}

// defines reports whether a symbol, or what it is nested in, is defined.
func defines(defined map[string]bool, symbol string) bool {
	for range maxNesting {
		if symbol == "" || defined[symbol] {
			return symbol != ""
		}
		symbol = parent(symbol)
	}
	return false
}

// inProgram reports whether the program has a type of that name. Its file stands in
// for one that the backend does not have.
func inProgram(symbol string) bool {
	_, err := program().FindDescriptorByName(protoreflect.FullName(symbol))
	return err == nil
}

func (r *reflector) addFiles(response []byte) error {
	return eachField(response, func(n protowire.Number, value []byte) error {
		if n != 1 {
			return nil
		}
		if r.size += len(value); r.size > r.maxBytes {
			return fmt.Errorf("the descriptors have more than %d bytes", r.maxBytes)
		}
		fd := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(value, fd); err != nil {
			return fmt.Errorf("the backend sent a file descriptor that cannot be read: %w", err)
		}
		if _, ok := r.files[fd.GetName()]; !ok {
			r.files[fd.GetName()] = rawFile{value, fd}
		}
		if len(r.files) > maxFiles {
			return fmt.Errorf("the descriptors have more than %d files", maxFiles)
		}
		return nil
	})
}

type request struct {
	field protowire.Number
	value string
}

// ask sends requests on one stream and hands every response's payload to
// receive, with the request that it answers.
func (r *reflector) ask(ctx context.Context, requests []request, receive func(request, protowire.Number, []byte) error) error {
	if len(requests) == 0 {
		return nil
	}
	call := &rpc.Call{
		Procedure: "/grpc.reflection." + r.version + ".ServerReflection/ServerReflectionInfo",
		Kind:      rpc.BidiStream,
	}
	for _, q := range requests {
		b := protowire.AppendTag(nil, q.field, protowire.BytesType)
		call.Requests = append(call.Requests, protowire.AppendString(b, q.value))
	}
	answered := 0
	_, err := r.caller.Call(ctx, call, func(message []byte) error {
		if answered >= len(requests) {
			return errors.New("the backend sent more responses than it was asked for")
		}
		q := requests[answered]
		answered++
		return eachField(message, func(n protowire.Number, value []byte) error { return receive(q, n, value) })
	})
	if err == nil && answered < len(requests) {
		err = fmt.Errorf("the backend answered %d of %d requests", answered, len(requests))
	}
	return err
}

// eachField visits the length-delimited fields of a response.
func eachField(b []byte, visit func(protowire.Number, []byte) error) error {
	var failed error
	err := wire.EachBytes(b, func(num protowire.Number, value []byte) error {
		failed = visit(num, value)
		return failed
	})
	if err != nil && failed == nil {
		return fmt.Errorf("the backend sent a malformed response: %w", err)
	}
	return err
}

// errorMessage returns the text of an ErrorResponse, or its beginning.
func errorMessage(response []byte) string {
	message := "no reason given"
	// What cannot be read has no text.
	_ = eachField(response, func(n protowire.Number, value []byte) error {
		if n == 2 {
			message = strings.ToValidUTF8(string(value[:min(len(value), maxErrorBytes)]), "")
		}
		return nil
	})
	return message
}
