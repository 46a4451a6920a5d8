package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	state = Purpose{Name: "state"}
	task  = Purpose{Name: "task"}
)

func box(t testing.TB, keys ...[]byte) *Box {
	t.Helper()
	b, err := New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b := box(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		value := make([]byte, random.IntN(1000))
		for i := range value {
			value[i] = byte(random.Uint32())
		}
		binding := []string{"alice", string(value[:len(value)/2])}
		token, err := b.Seal(state, value, time.Time{}, binding...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("token %q", token)
		}
		again, _ := b.Seal(state, value, time.Time{}, binding...)
		if again != token {
			t.Error("equal input gives different tokens")
		}
		got, err := b.Open(state, token, binding...)
		if err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%x, %v, want %x", got, err, value)
		}
	}
}

// TestRefused: whatever is wrong with a token, the error is the same.
func TestRefused(t *testing.T) {
	t.Parallel()
	b, other := box(t), box(t)
	token, err := b.Seal(state, []byte("value"), time.Now().Add(time.Hour), "alice", "tool")
	if err != nil {
		t.Fatal(err)
	}
	expired, _ := b.Seal(state, []byte("value"), time.Now().Add(-time.Millisecond), "alice", "tool")
	foreign, _ := other.Seal(state, []byte("value"), time.Time{}, "alice", "tool")
	if _, err := b.Open(state, token, "alice", "tool"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, token string
		purpose     Purpose
		binding     []string
	}{
		{"empty", "", state, []string{"alice", "tool"}},
		{"not base64", "!" + token[1:], state, []string{"alice", "tool"}},
		{"line break", token[:20] + "\n" + token[20:], state, []string{"alice", "tool"}},
		{"truncated", token[:len(token)-4], state, []string{"alice", "tool"}},
		{"too short", token[:8], state, []string{"alice", "tool"}},
		{"vector alone", base64.RawURLEncoding.EncodeToString(make([]byte, 16)), state, []string{"alice", "tool"}},
		{"longer", token + "AAAA", state, []string{"alice", "tool"}},
		{"other key", foreign, state, []string{"alice", "tool"}},
		{"other principal", token, state, []string{"bob", "tool"}},
		{"shifted binding", token, state, []string{"alicet", "ool"}},
		{"less binding", token, state, []string{"alice"}},
		{"more binding", token, state, []string{"alice", "tool", ""}},
		{"other purpose", token, task, []string{"alice", "tool"}},
		{"expired", expired, state, []string{"alice", "tool"}},
		{"oversized", strings.Repeat("A", DefaultMaxBytes+1), state, []string{"alice", "tool"}},
	} {
		if got, err := b.Open(tt.purpose, tt.token, tt.binding...); !errors.Is(err, ErrInvalid) || err.Error() != ErrInvalid.Error() || got != nil {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// TestForged: no change of a single bit goes unnoticed.
func TestForged(t *testing.T) {
	t.Parallel()
	b := box(t)
	token, err := b.Seal(state, []byte("value"), time.Time{}, "alice")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * len(sealed) {
		sealed[i/8] ^= 1 << (i % 8)
		if got, err := b.Open(state, base64.RawURLEncoding.EncodeToString(sealed), "alice"); !errors.Is(err, ErrInvalid) {
			t.Errorf("bit %d: %q, %v", i, got, err)
		}
		sealed[i/8] ^= 1 << (i % 8)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := box(t)
		token, err := b.Seal(state, nil, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute - time.Millisecond)
		if _, err := b.Open(state, token); err != nil {
			t.Errorf("before it expires: %v", err)
		}
		<-time.After(time.Millisecond)
		if _, err := b.Open(state, token); !errors.Is(err, ErrInvalid) {
			t.Errorf("after it has expired: %v", err)
		}
	})
}

// TestRotation: the first key seals, and all open.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, young := bytes.Repeat([]byte("o"), MinKeyBytes), bytes.Repeat([]byte("y"), MinKeyBytes+7)
	before, during, after := box(t, old), box(t, young, old), box(t, young)
	first, _ := before.Seal(state, []byte("1"), time.Time{})
	second, _ := during.Seal(state, []byte("2"), time.Time{})
	for _, tt := range []struct {
		name  string
		box   *Box
		token string
		want  error
	}{
		{"old token, both keys", during, first, nil},
		{"new token, new key", after, second, nil},
		{"old token, new key", after, first, ErrInvalid},
		{"new token, old key", before, second, ErrInvalid},
	} {
		if _, err := tt.box.Open(state, tt.token); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	b := box(t)
	value := make([]byte, DefaultMaxBytes)
	if _, err := b.Seal(state, value, time.Time{}); !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v", err)
	}
	large := Purpose{Name: "state", MaxBytes: 2 * DefaultMaxBytes}
	token, err := b.Seal(large, value, time.Time{})
	if err != nil || len(token) > 2*DefaultMaxBytes {
		t.Fatalf("%d bytes, %v", len(token), err)
	}
	if _, err := b.Open(state, token); !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		keys [][]byte
		want string
	}{
		{"short ones", [][]byte{make([]byte, 31), make([]byte, 32), nil}, "seal: key 0 has 31 bytes; it needs 32\nseal: key 2 has 0 bytes; it needs 32"},
		{"too many", make([][]byte, MaxKeys+1), "seal: 17 keys are more than 16"},
	} {
		if _, err := New(tt.keys...); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b := box(f, bytes.Repeat([]byte("k"), MinKeyBytes))
	for _, value := range []string{"", "value", strings.Repeat("x", 100)} {
		token, err := b.Seal(state, []byte(value), time.Time{}, "alice")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		value, err := b.Open(state, token, "alice")
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v", err)
			}
			return
		}
		// Only a token that Seal has made opens: sealing its value gives it again.
		if again, err := b.Seal(state, value, time.Time{}, "alice"); err != nil || again != token {
			t.Errorf("%q opens as %q, which seals to %q, %v", token, value, again, err)
		}
	})
}
