package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// measureAllocations counts what a call allocates in the whole of the server's
// process, net/http and the gRPC client among it. The bridge is in a role of
// this program, because its binary does not tell.
func (o *options) measureAllocations(ctx context.Context, b *bed, progress io.Writer) (*table, error) {
	t := &table{
		title: "Allocations per call, in the whole of the process (goal: 200 objects)",
		note:  "One client. A large value is read and written in buffers that grow, which is most of the bytes.",
	}
	t.add("", "floor", "bridge, "+strings.Join(o.revisions, " and "))
	floor, err := b.role(ctx, roleFloor, b.backend.line)
	if err != nil {
		return nil, err
	}
	library, err := b.role(ctx, roleLibrary, b.backend.line)
	if err != nil {
		return nil, err
	}
	for i := range o.works {
		w := &o.works[i]
		fmt.Fprintf(progress, "%s, allocations\n", w.name)
		base, err := allocationsPerCall(ctx, floor, legacy, w)
		if err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		cells := make([]string, 0, len(o.revisions))
		for _, revision := range o.revisions {
			a, err := allocationsPerCall(ctx, library, revision, w)
			if err != nil {
				return nil, fmt.Errorf("bridge, %s: %w", revision, err)
			}
			cells = append(cells, a.String())
		}
		t.add(w.name, base.String(), strings.Join(cells, "; "))
	}
	return t, errors.Join(floor.stop(), library.stop())
}

func (a allocations) String() string {
	return fmt.Sprintf("%.0f objects, %.0f KB", a.Objects, a.Bytes/(1<<10))
}

// allocationsPerCall makes calls one after the other.
func allocationsPerCall(ctx context.Context, p *process, revision string, w *work) (allocations, error) {
	s, err := newSide(ctx, "", p, revision, 1)
	if err != nil {
		return allocations{}, err
	}
	defer func() { _ = s.close() }() // it has served
	k := &checker{work: w}
	if _, err := s.turn(k, 1, w.calls/4+1); err != nil {
		return allocations{}, err
	}
	before, err := allocated(ctx, p)
	if err != nil {
		return allocations{}, err
	}
	if _, err := s.turn(k, 1, w.calls); err != nil {
		return allocations{}, err
	}
	after, err := allocated(ctx, p)
	n := float64(w.calls)
	return allocations{(after.Objects - before.Objects) / n, (after.Bytes - before.Bytes) / n}, err
}

var plain = &http.Client{Timeout: 2 * requestTimeout}

// get reads what a role says of itself.
func get(ctx context.Context, p *process, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.url(), "/mcp")+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := plain.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func allocated(ctx context.Context, p *process) (a allocations, err error) {
	raw, err := get(ctx, p, allocationsPath)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a)
}

// profileTime is how long a profile is taken for.
const profileTime = 10 * time.Second

// writeProfiles writes profiles of the bridge under the load of each work, by
// the first number of clients and the first revision.
func (o *options) writeProfiles(ctx context.Context, b *bed, progress io.Writer) error {
	for i := range o.works {
		w := &o.works[i]
		library, err := b.role(ctx, roleLibrary, b.backend.line)
		if err != nil {
			return err
		}
		s, err := newSide(ctx, w.name, library, o.revisions[0], o.clients[0])
		if err != nil {
			return err
		}
		var over atomic.Bool
		load := make(chan error, 1)
		go func() {
			k := &checker{work: w}
			for !over.Load() {
				if _, err := s.turn(k, len(s.clients), max(len(s.clients), w.calls)); err != nil {
					load <- err
					return
				}
			}
			load <- nil
		}()
		var errs []error
		for _, profile := range []struct{ file, path string }{
			{".cpu.pprof", fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profileTime.Seconds())},
			{".allocs.pprof", "/debug/pprof/allocs"},
		} {
			raw, err := get(ctx, library, profile.path)
			if err == nil {
				name := filepath.Join(o.profile, w.name+profile.file)
				fmt.Fprintln(progress, name)
				err = os.WriteFile(name, raw, 0o600)
			}
			errs = append(errs, err)
		}
		over.Store(true)
		if err := errors.Join(append(errs, <-load, s.close(), library.stop())...); err != nil {
			return err
		}
	}
	return nil
}
