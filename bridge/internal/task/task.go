// Package task makes the ids of tasks. An id holds, sealed, everything that
// must be known of its task, so the bridge remembers none: any number of tasks
// costs no memory, and with one key they survive a restart and work on every
// replica.
package task

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

const (
	// MinKeyBytes is how long a key must be at least.
	MinKeyBytes = 32
	// MaxNameBytes bounds the method and the operation of a [Ref] together:
	// ids travel in HTTP headers.
	MaxNameBytes = 2048

	// maxIDBytes bounds what Open looks at.
	maxIDBytes = 4096
	version    = 1
)

// Errors of [Sealer.Open].
var (
	// ErrUnknown is of ids that were not made here, or for somebody else.
	ErrUnknown = errors.New("there is no such task")
	// ErrExpired is of ids whose time is up.
	ErrExpired = errors.New("the task has expired")
)

// Ref says what a task stands for.
type Ref struct {
	// Method is the full name of the RPC that started the operation.
	Method string
	// Operation is the name of the operation.
	Operation string
	// Created is when the task was made, in whole milliseconds.
	Created time.Time
	// TTL is how long after that the id is good, in whole milliseconds.
	TTL time.Duration
}

// Sealer makes ids and reads them. It is used concurrently.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key of [MinKeyBytes] or more, or with a
// random one where key is nil.
func NewSealer(key []byte) (*Sealer, error) {
	if key == nil {
		key = make([]byte, MinKeyBytes)
		_, _ = rand.Read(key) // never fails
	}
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the task key has %d bytes; it needs %d", len(key), MinKeyBytes)
	}
	sum := sha256.Sum256(append([]byte("mcp-bridge task id v1\x00"), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

// Seal returns an id for the task, which only the same owner can use. It is a
// token of letters, digits, '-' and '_' that nobody can guess or read. The
// error is not nil where the names are longer than [MaxNameBytes].
func (s *Sealer) Seal(ref Ref, owner string) (string, error) {
	if n := len(ref.Method) + len(ref.Operation); n > MaxNameBytes {
		return "", fmt.Errorf("the method's and the operation's name together have %d bytes, more than %d", n, MaxNameBytes)
	}
	plain := []byte{version}
	plain = binary.AppendVarint(plain, ref.Created.UnixMilli())
	plain = binary.AppendVarint(plain, ref.TTL.Milliseconds())
	plain = binary.AppendUvarint(plain, uint64(len(ref.Method)))
	plain = append(append(plain, ref.Method...), ref.Operation...)
	sealed := s.aead.Seal(nil, nil, plain, []byte(owner)) //nolint:gosec // the AEAD makes the nonce itself, at random
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open reads an id. The error is [ErrUnknown] or [ErrExpired].
func (s *Sealer) Open(id, owner string, now time.Time) (Ref, error) {
	if len(id) > maxIDBytes {
		return Ref{}, ErrUnknown
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil {
		return Ref{}, ErrUnknown
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(owner))
	if err != nil || len(plain) == 0 || plain[0] != version {
		return Ref{}, ErrUnknown
	}
	plain = plain[1:]
	created, n := binary.Varint(plain)
	if n <= 0 {
		return Ref{}, ErrUnknown
	}
	plain = plain[n:]
	ttl, n := binary.Varint(plain)
	if n <= 0 {
		return Ref{}, ErrUnknown
	}
	plain = plain[n:]
	length, n := binary.Uvarint(plain)
	if n <= 0 {
		return Ref{}, ErrUnknown
	}
	plain = plain[n:]
	if length > uint64(len(plain)) {
		return Ref{}, ErrUnknown
	}
	ref := Ref{
		Method:    string(plain[:length]),
		Operation: string(plain[length:]),
		Created:   time.UnixMilli(created).UTC(),
		TTL:       time.Duration(ttl) * time.Millisecond,
	}
	if !now.Before(ref.Created.Add(ref.TTL)) {
		return Ref{}, ErrExpired
	}
	return ref, nil
}
