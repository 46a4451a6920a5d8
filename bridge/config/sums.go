package config

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// What is compared of a file or directory is bounded.
const (
	maxHashed      = 64 << 20
	maxHashedFiles = 10_000
)

// sum is the hash of what a file holds, or of why nothing can be read of it.
type sum [sha256.Size]byte

// sums are the files and directories that a configuration depends on.
type sums map[string]sum

// now returns the present sums of the same paths.
func (s sums) now() sums {
	out := make(sums, len(s))
	for path := range s {
		out[path] = sumOf(path)
	}
	return out
}

// note adds paths that have no sum yet.
func (s sums) note(path string) {
	if _, ok := s[path]; !ok {
		s[path] = sumOf(path)
	}
}

// read notes the sum of what has been read of a file, so that a change between
// then and later is one.
func (s sums) read(path string, data []byte) {
	if _, ok := s[path]; !ok {
		s[path] = sha256.Sum256(data)
	}
}

// paths returns the paths in their order.
func (s sums) paths() []string { return slices.Sorted(maps.Keys(s)) }

// Reasons why nothing can be read.
var (
	missing    = sum(sha256.Sum256([]byte("no such file")))
	unreadable = sum(sha256.Sum256([]byte("not readable")))
	irregular  = sum(sha256.Sum256([]byte("not a regular file")))
)

// sumOf returns the sum of what is at a path: of the text of a file, or of the
// .proto files of a directory. A pipe is not read, which would take its text
// away.
func sumOf(path string) sum {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case err != nil:
		return unreadable
	case info.IsDir():
		return sumOfDirectory(path)
	case !info.Mode().IsRegular():
		return irregular
	}
	file, err := os.Open(path)
	if err != nil {
		return unreadable
	}
	defer func() { _ = file.Close() }() // it has only been read
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, maxHashed)); err != nil {
		return unreadable
	}
	return sum(h.Sum(nil))
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// sumOfDirectory returns the sum of the .proto files below a directory.
func sumOfDirectory(dir string) sum {
	h := sha256.New()
	count := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // it is only ended by us
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".proto" {
			return nil //nolint:nilerr // what cannot be read is not part of it
		}
		if count++; count > maxHashedFiles {
			return errEnough
		}
		addText(h, []byte(path))
		inner := sumOf(path)
		h.Write(inner[:])
		return nil
	})
	return sum(h.Sum(nil))
}

// addText adds bytes and their length to a hash.
func addText(h hash.Hash, b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}
