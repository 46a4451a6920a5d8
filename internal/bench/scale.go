package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

// scale is how large the things are that are measured for their size.
type scale struct{ starts, methods, lists, sessions int }

func (o *options) scale() scale {
	if o.small {
		return scale{starts: 1, methods: 5 * methodsPerService, lists: 2, sessions: 100}
	}
	return scale{starts: o.rounds, methods: 2000, lists: 20, sessions: 10_000}
}

// measureScale measures starts, large catalogs and idle sessions.
func (o *options) measureScale(ctx context.Context, b *bed, progress io.Writer) (*table, error) {
	n := o.scale()
	t := &table{title: "Starts, large catalogs and idle sessions: the times are medians, and absolute"}
	t.add("", "measured", "goal")
	fmt.Fprintln(progress, "starts")
	large, err := b.role(ctx, roleCatalog, strconv.Itoa(n.methods))
	if err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(catalog(n.methods))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "catalog.binpb")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		name, upstream, goal string
		tools                int
		flags                []string
	}{
		{"4 methods, by reflection", b.backend.line, "15 ms", 4, nil},
		{fmt.Sprintf("%d methods, of a descriptor file", n.methods), large.line, "150 ms, 50 MB", n.methods, []string{"--descriptors", file}},
		{fmt.Sprintf("%d methods, by reflection", n.methods), large.line, "250 ms, 50 MB", n.methods, nil},
	} {
		var took, resident []float64
		for range n.starts {
			s, err := b.firstList(ctx, kind.upstream, kind.tools, kind.flags)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind.name, err)
			}
			took, resident = append(took, float64(s.took)), append(resident, float64(s.resident))
		}
		t.add("start to first tools/list, "+kind.name, millis(time.Duration(median(took)))+", "+megabytes(int64(median(resident)))+" resident", kind.goal)
	}
	fmt.Fprintln(progress, "tools/list")
	list, err := b.steadyList(ctx, large.line, file, n)
	if err != nil {
		return nil, err
	}
	t.add(fmt.Sprintf("tools/list of %d tools, steady", n.methods), millis(list.cpu)+" of CPU, "+megabytes(int64(list.size)), "5 ms")
	fmt.Fprintln(progress, "sessions")
	s, err := b.idleSessions(ctx, n.sessions)
	if err != nil {
		return nil, err
	}
	t.add(fmt.Sprintf("an idle session of %s, of %d", legacy, n.sessions),
		fmt.Sprintf("%d bytes resident, %.2f goroutines", s.bytes, s.goroutines), "1 KB, none")
	return t, large.stop()
}

type firstList struct {
	took     time.Duration
	resident int64
}

// firstList starts the bridge and measures until the whole of tools/list has
// been read.
func (b *bed) firstList(ctx context.Context, upstream string, tools int, flags []string) (firstList, error) {
	start := time.Now()
	p, err := b.bridge(ctx, "grpc://"+upstream, flags...)
	if err != nil {
		return firstList{}, err
	}
	s, err := newSide(ctx, "", p, modern, 1)
	if err != nil {
		return firstList{}, err
	}
	if err := listAll(s, tools, nil); err != nil {
		return firstList{}, err
	}
	took := time.Since(start)
	resident, err := residentBytes(p.pid())
	return firstList{took, resident}, errors.Join(err, s.close(), p.stop())
}

// listAll lists, and checks how many tools there are.
func listAll(s *side, want int, size *int) error {
	c, ok := s.clients[0].(*client)
	if !ok {
		return fmt.Errorf("%s has no clients of JSON-RPC", s.name)
	}
	tools, n, err := c.listTools()
	if err == nil && tools != want {
		err = fmt.Errorf("tools/list has %d tools, want %d", tools, want)
	}
	if size != nil {
		*size = n
	}
	return err
}

type steadyList struct {
	cpu  time.Duration
	size int
}

// steadyList measures tools/list of a bridge that has answered it before.
func (b *bed) steadyList(ctx context.Context, upstream, descriptors string, n scale) (l steadyList, err error) {
	p, err := b.bridge(ctx, "grpc://"+upstream, "--descriptors", descriptors)
	if err != nil {
		return l, err
	}
	s, err := newSide(ctx, "", p, modern, 1)
	if err != nil {
		return l, err
	}
	if err := listAll(s, n.methods, &l.size); err != nil {
		return l, err
	}
	before, err := cpuTime(p.pid())
	if err != nil {
		return l, err
	}
	for range n.lists {
		if err := listAll(s, n.methods, nil); err != nil {
			return l, err
		}
	}
	after, err := cpuTime(p.pid())
	l.cpu = (after - before) / time.Duration(n.lists)
	return l, errors.Join(err, s.close(), p.stop())
}

type idleSessions struct {
	bytes      int64   // of resident memory, per session
	goroutines float64 // per session
}

// warmSessions are opened and ended before the others, so that what the first
// requests of a process cost is not counted.
const warmSessions = 200

// idleSessions opens sessions over one connection and leaves them alone. The
// garbage of opening them is kept small by a collector that runs often.
func (b *bed) idleSessions(ctx context.Context, n int) (s idleSessions, err error) {
	p, err := b.bridgeWith(ctx, []string{"GOGC=5"}, "grpc://"+b.backend.line)
	if err != nil {
		return s, err
	}
	c, err := dial(ctx, p.url())
	if err != nil {
		return s, err
	}
	warm := make([]*client, warmSessions)
	for i := range warm {
		if warm[i], err = open(c, legacy); err != nil {
			return s, err
		}
	}
	for _, w := range warm {
		if err := w.end(); err != nil {
			return s, err
		}
	}
	before, err := residentBytes(p.pid())
	if err != nil {
		return s, err
	}
	for range n {
		if _, err := open(c, legacy); err != nil {
			return s, err
		}
	}
	after, err := residentBytes(p.pid())
	if err != nil {
		return s, err
	}
	goroutines, err := p.goroutines()
	s = idleSessions{(after - before) / int64(n), float64(goroutines) / float64(n)}
	return s, errors.Join(err, c.close())
}
