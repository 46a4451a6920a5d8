// Package descriptor finds the protobuf descriptors of a backend's services:
// by server reflection, in a descriptor set, in .proto sources, or among what
// is linked into the program.
//
// A [Source] gets serialised files: from a backend (reflection.go), from a file or
// from memory (fileset.go), or from a compiler (source.go). They are linked
// (link.go), after imports of files that go by another name have been mended
// (relink.go), into a [Set] (set.go): the services, with comments, of one moment.
// Fields that nobody may see are taken out of it (without.go). What calls need for
// longer is in its [Types] (types.go), which link a file when something in it is
// asked for.
package descriptor
