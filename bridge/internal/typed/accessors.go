package typed

import (
	"slices"
	"strings"
)

// reservedTypes are names that generated classes have for something else:
// methods in C++, and classes in Java and C#.
var reservedTypes = []string{
	"Builder", "Types",
	"Clear", "CopyFrom", "GetDescriptor", "GetMetadata", "GetReflection", "IsInitialized", "MergeFrom", "New", "Swap",
}

// reservedFields are names of methods that generated classes have in C++.
var reservedFields = []string{"descriptor", "default_instance"}

// accessors are the names of the fields of a message, and those that generated
// code has for what it does with them. In some languages no field may have
// one of the latter: has_name beside an optional name.
type accessors struct {
	fields, derived map[string]bool
}

func newAccessors() accessors {
	return accessors{fields: make(map[string]bool), derived: make(map[string]bool)}
}

// add notes a field that has its name and kind.
func (a accessors) add(f LockedField) {
	a.fields[f.Name] = true
	for _, name := range derivedNames(f) {
		a.derived[name] = true
	}
}

// addOneof notes the name of a oneof.
func (a accessors) addOneof(name string) {
	for _, derived := range []string{"has_" + name, "clear_" + name, name + "_case"} {
		a.derived[derived] = true
	}
}

// admit reports whether a field may have its name beside those that are noted.
func (a accessors) admit(f LockedField) bool {
	return !a.derived[f.Name] && !slices.ContainsFunc(derivedNames(f), func(name string) bool { return a.fields[name] })
}

// derivedNames returns the names that code has for what it does with a field:
// those of C++, and those of Java behind "get".
func derivedNames(f LockedField) []string {
	prefixes, suffixes := scalarPrefixes, []string(nil)
	switch typ, _, _ := strings.Cut(strings.TrimPrefix(f.Kind, "oneof "), " "); typ {
	case "repeated", "map":
		prefixes, suffixes = listPrefixes, listSuffixes
	case "string":
		prefixes, suffixes = pointerPrefixes, stringSuffixes
	case "enum":
		suffixes = enumSuffixes
	case "message":
		prefixes, suffixes = pointerPrefixes, messageSuffixes
	}
	all := make([]string, 0, len(prefixes)+len(suffixes))
	for _, prefix := range prefixes {
		all = append(all, prefix+f.Name)
	}
	for _, suffix := range suffixes {
		all = append(all, f.Name+suffix)
	}
	return all
}

// What is before and behind the name of a field in the names of its accessors.
var (
	scalarPrefixes  = []string{"has_", "clear_", "set_"}
	pointerPrefixes = []string{"has_", "clear_", "set_", "mutable_", "release_", "set_allocated_"}
	listPrefixes    = []string{"clear_", "set_", "mutable_", "add_"}

	listSuffixes    = []string{"_size"}
	stringSuffixes  = []string{"_bytes"}
	enumSuffixes    = []string{"_value"}
	messageSuffixes = []string{"_builder", "_or_builder"}
)

// isDerived reports whether a name is like those of accessors.
func isDerived(name string) bool {
	isPrefix := func(s string) bool { return strings.HasPrefix(name, s) }
	isSuffix := func(s string) bool { return strings.HasSuffix(name, s) }
	return slices.ContainsFunc(pointerPrefixes, isPrefix) || slices.ContainsFunc(listPrefixes, isPrefix) ||
		slices.ContainsFunc([]string{"_size", "_bytes", "_value", "_builder"}, isSuffix)
}
