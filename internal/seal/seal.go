// Package seal makes tokens that carry a value through a client which must
// neither read nor change it: states of calls that wait for input, ids of tasks.
//
// A token is authenticated and encrypted by a synthetic initialization vector
// (the SIV construction of RFC 5297, with HMAC-SHA256 and AES-256-CTR). So equal
// input gives equal tokens, one task has one id, and no nonce can repeat for two
// values. A token opens only for the purpose and the binding that it was sealed
// for.
//
// Do not use it for what a client may read, and not where a value must be
// revocable before it expires: nothing is remembered here.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"
)

const (
	// MinKeyBytes is how long a key must be at least.
	MinKeyBytes = 32
	// MaxKeys bounds the keys of a [Box]: opening tries one after the other.
	MaxKeys = 16
	// DefaultMaxBytes is how long the tokens of a [Purpose] may be unless it says
	// otherwise: they fit an HTTP header.
	DefaultMaxBytes = 4096

	version = 1
)

// The faults.
var (
	// ErrInvalid is the error of [Box.Open], whatever is wrong with a token: it
	// tells nobody how close a guess was.
	ErrInvalid = errors.New("the token is not valid here")
	// ErrTooLong is the error of [Box.Seal] for a value that makes a token longer
	// than its purpose allows.
	ErrTooLong = errors.New("the value is too long to be sealed")
)

// Purpose is a kind of token. A token of one purpose does not open as another.
type Purpose struct {
	// Name tells the purpose from others.
	Name string
	// MaxBytes is the length of the longest token. Zero means DefaultMaxBytes.
	MaxBytes int
}

func (p Purpose) max() int {
	if p.MaxBytes > 0 {
		return p.MaxBytes
	}
	return DefaultMaxBytes
}

// Box seals and opens tokens. It is immutable and used concurrently.
type Box struct{ keys []key }

type key struct {
	mac   []byte
	block cipher.Block
}

// New returns a Box. The first key seals and all open, so that keys can be
// rotated. Without any, the Box has a random key of its own, and its tokens die
// with it.
func New(keys ...[]byte) (*Box, error) {
	if len(keys) == 0 {
		random := make([]byte, MinKeyBytes)
		_, _ = rand.Read(random) // never fails
		keys = [][]byte{random}
	}
	if len(keys) > MaxKeys {
		return nil, fmt.Errorf("seal: %d keys are more than %d", len(keys), MaxKeys)
	}
	b := &Box{}
	var faults []error
	for i, secret := range keys {
		if len(secret) < MinKeyBytes {
			faults = append(faults, fmt.Errorf("seal: key %d has %d bytes; it needs %d", i, len(secret), MinKeyBytes))
			continue
		}
		k, err := newKey(secret)
		if err != nil {
			faults = append(faults, fmt.Errorf("seal: key %d: %w", i, err))
			continue
		}
		b.keys = append(b.keys, k)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return b, nil
}

func newKey(secret []byte) (key, error) {
	const size = 32 // of AES-256, and of the hash
	derived, err := hkdf.Key(sha256.New, secret, nil, "mcp-bridge seal v1", 2*size)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(derived[size:])
	if err != nil {
		return key{}, err
	}
	return key{mac: derived[:size], block: block}, nil
}

// Seal returns a token for value: letters, digits, '-' and '_'. It opens until
// expires, unless that is the zero time, and for the same binding only. Expiry
// has a precision of milliseconds. The error is [ErrTooLong].
func (b *Box) Seal(p Purpose, value []byte, expires time.Time, binding ...string) (string, error) {
	var until int64
	if !expires.IsZero() {
		until = max(expires.UnixMilli(), 1)
	}
	plain := binary.AppendVarint([]byte{version}, until)
	plain = append(plain, value...)
	if base64.RawURLEncoding.EncodedLen(aes.BlockSize+len(plain)) > p.max() {
		return "", ErrTooLong
	}
	k := b.keys[0]
	sealed := make([]byte, aes.BlockSize+len(plain))
	copy(sealed, k.vector(p, binding, plain))
	cipher.NewCTR(k.block, sealed[:aes.BlockSize]).XORKeyStream(sealed[aes.BlockSize:], plain)
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open returns the value of a token. The error is [ErrInvalid].
func (b *Box) Open(p Purpose, token string, binding ...string) ([]byte, error) {
	// Decoding skips line breaks, so that many texts would be one token.
	if len(token) > p.max() || strings.ContainsAny(token, "\r\n") {
		return nil, ErrInvalid
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(sealed) < aes.BlockSize {
		return nil, ErrInvalid
	}
	for _, k := range b.keys {
		plain := make([]byte, len(sealed)-aes.BlockSize)
		cipher.NewCTR(k.block, sealed[:aes.BlockSize]).XORKeyStream(plain, sealed[aes.BlockSize:])
		if !hmac.Equal(k.vector(p, binding, plain), sealed[:aes.BlockSize]) {
			continue
		}
		if len(plain) == 0 || plain[0] != version {
			return nil, ErrInvalid
		}
		until, n := binary.Varint(plain[1:])
		if n <= 0 || until != 0 && time.Now().UnixMilli() >= until {
			return nil, ErrInvalid
		}
		return plain[1+n:], nil
	}
	return nil, ErrInvalid
}

// vector authenticates everything that belongs to a token.
func (k key) vector(p Purpose, binding []string, plain []byte) []byte {
	h := hmac.New(sha256.New, k.mac)
	write(h, p.Name)
	count := uint64(len(binding))
	h.Write(binary.BigEndian.AppendUint64(nil, count))
	for _, part := range binding {
		write(h, part)
	}
	h.Write(plain)
	return h.Sum(nil)[:aes.BlockSize]
}

// write writes text so that no other texts look like it together.
func write(h hash.Hash, text string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	h.Write([]byte(text))
}
