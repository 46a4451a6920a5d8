package task_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/task"
)

func sealer(t *testing.T, key []byte) *task.Sealer {
	t.Helper()
	s, err := task.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, task.MinKeyBytes)
	s := sealer(t, key)
	now := time.Date(2026, 7, 28, 1, 2, 3, 4e6, time.UTC)
	for _, ref := range []task.Ref{
		{Method: "jobs.v1.Jobs.Bake", Operation: "operations/1", Created: now, TTL: time.Hour},
		{Method: "m", Operation: strings.Repeat("o", task.MaxNameBytes-1), Created: now, TTL: time.Millisecond},
		{Created: now, TTL: time.Hour},
	} {
		id, err := s.Seal(ref, "me")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("id %q has other characters", id)
		}
		if strings.Contains(id, "operations") {
			t.Errorf("id %q can be read", id)
		}
		again, err := s.Seal(ref, "me")
		if err != nil || again == id {
			t.Errorf("two ids are the same, %v", err)
		}
		for who, opener := range map[string]*task.Sealer{"the same": s, "another with the key": sealer(t, key)} {
			if got, err := opener.Open(id, "me", now); err != nil || got != ref {
				t.Errorf("%s: %+v, %v; want %+v", who, got, err, ref)
			}
		}
		if _, err := s.Open(id, "me", now.Add(ref.TTL)); !errors.Is(err, task.ErrExpired) {
			t.Errorf("expired: %v", err)
		}
		for why, err := range map[string]error{
			"another owner": second(s.Open(id, "you", now)),
			"another key":   second(sealer(t, nil).Open(id, "me", now)),
			"cut off":       second(s.Open(id[:len(id)-2], "me", now)),
			"empty":         second(s.Open("", "me", now)),
			"no base64":     second(s.Open("!", "me", now)),
			"too long":      second(s.Open(strings.Repeat("A", 1<<20), "me", now)),
		} {
			if !errors.Is(err, task.ErrUnknown) {
				t.Errorf("%s: %v", why, err)
			}
		}
	}
}

// No bit of an id can be changed.
func TestForged(t *testing.T) {
	t.Parallel()
	s := sealer(t, nil)
	now := time.Now()
	id, err := s.Seal(task.Ref{Method: "m", Operation: "o", Created: now, TTL: time.Hour}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(id) {
		forged := []byte(id)
		forged[i] ^= 1
		if _, err := s.Open(string(forged), "", now); err == nil {
			t.Errorf("changed at %d, the id is still good", i)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s, err := task.NewSealer(bytes.Repeat([]byte{1}, task.MinKeyBytes))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("AAAA", "")
	f.Fuzz(func(t *testing.T, id, owner string) {
		if ref, err := s.Open(id, owner, time.Now()); err == nil {
			t.Errorf("%q is an id: %+v", id, ref)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if _, err := task.NewSealer(make([]byte, 31)); err == nil || err.Error() != "the task key has 31 bytes; it needs 32" {
		t.Error(err)
	}
	_, err := sealer(t, nil).Seal(task.Ref{Operation: strings.Repeat("o", task.MaxNameBytes+1)}, "")
	if err == nil || !strings.Contains(err.Error(), "2049 bytes, more than 2048") {
		t.Error(err)
	}
}

func second(_ task.Ref, err error) error { return err }

func BenchmarkSealAndOpen(b *testing.B) {
	s, err := task.NewSealer(nil)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	ref := task.Ref{Method: "jobs.v1.Jobs.Bake", Operation: "projects/p/operations/1234567890", Created: now, TTL: time.Hour}
	b.ReportAllocs()
	for b.Loop() {
		id, err := s.Seal(ref, "me")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Open(id, "me", now); err != nil {
			b.Fatal(err)
		}
	}
}
