package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

func sideError(s *side, err error) error { return fmt.Errorf("%s: %w", s.name, err) }

// result is what the sides came to with one work and number of clients.
type result struct {
	work    *work
	clients int
	floor   []sample
	bridge  [][]sample // by revision
}

// measureCalls compares the bridge's calls with the floor's, in every revision.
func (o *options) measureCalls(ctx context.Context, b *bed, progress io.Writer) ([]result, error) {
	floor, err := b.role(ctx, roleFloor, b.backend.line)
	if err != nil {
		return nil, err
	}
	server, err := b.bridge(ctx, "grpc://"+b.backend.line)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, clients := range o.clients {
		of, err := o.measureClients(ctx, floor, server, clients, progress)
		if err != nil {
			return nil, err
		}
		results = append(results, of...)
	}
	return results, errors.Join(floor.stop(), server.stop())
}

// measureClients is measureCalls for one number of clients. It opens them anew,
// as servers close what has been idle for long.
func (o *options) measureClients(ctx context.Context, floor, server *process, clients int, progress io.Writer) ([]result, error) {
	var sides []*side
	defer func() {
		for _, s := range sides {
			_ = s.close() // they have served
		}
	}()
	s, err := newSide(ctx, "floor", floor, legacy, clients)
	if err != nil {
		return nil, err
	}
	sides = append(sides, s)
	for _, revision := range o.revisions {
		s, err := newSide(ctx, "bridge, "+revision, server, revision, clients)
		if err != nil {
			return nil, err
		}
		sides = append(sides, s)
		for _, c := range s.clients { // a connection without a request is soon closed
			if c, ok := c.(*client); ok {
				if _, _, err := c.listTools(); err != nil {
					return nil, sideError(s, err)
				}
			}
		}
	}
	results := make([]result, 0, len(o.works))
	for i := range o.works {
		w := &o.works[i]
		fmt.Fprintf(progress, "%s, %d at once\n", w.name, clients)
		samples, err := rounds(ctx, sides, w, clients, o.rounds)
		if err != nil {
			return nil, err
		}
		results = append(results, result{w, clients, samples[0], samples[1:]})
	}
	return results, nil
}

// ratios is a table of a ratio to the floor: a row for every number of clients
// and revision, a column for every work.
func (o *options) ratios(title string, results []result, of func(sample) float64, least int) *table {
	t := &table{title: title}
	heading := []string{"clients at once, revision"}
	for _, w := range o.works {
		heading = append(heading, w.name)
	}
	t.add(heading...)
	for _, clients := range o.clients {
		if clients < least {
			continue
		}
		for i, revision := range o.revisions {
			row := []string{strconv.Itoa(clients) + ", " + revision}
			for _, r := range results {
				if r.clients == clients {
					row = append(row, times(ratio(r.bridge[i], r.floor, of)))
				}
			}
			t.add(row...)
		}
	}
	return t
}

// callTables renders the results.
func (o *options) callTables(results []result) []*table {
	cpu := o.ratios("CPU of the bridge's process per call, as a multiple of the floor's", results, cpuOf, 1)
	goals := []string{"goal"}
	for _, w := range o.works {
		goals = append(goals, times(w.goal))
	}
	cpu.add(goals...)
	tables := []*table{
		cpu,
		o.ratios("Calls per second, as a multiple of the floor's", results, rateOf, 1),
		o.ratios("p50 of a call's time, as a multiple of the floor's", results, p50Of, 1),
	}
	p99 := o.ratios("p99 of a call's time, as a multiple of the floor's (goal: 0.70)", results, p99Of, 16)
	if len(p99.rows) > 1 {
		tables = append(tables, p99)
	}
	if len(o.revisions) == 2 {
		tables = append(tables, o.betweenRevisions(results))
	}
	return append(tables, o.absolute(results))
}

// betweenRevisions compares the CPU of the second revision with the first's.
func (o *options) betweenRevisions(results []result) *table {
	t := &table{title: "CPU per call of revision " + o.revisions[1] + ", as a multiple of that of " + o.revisions[0] + " (goal: 1.10)"}
	heading := []string{"clients at once"}
	for _, w := range o.works {
		heading = append(heading, w.name)
	}
	t.add(heading...)
	for _, clients := range o.clients {
		row := []string{strconv.Itoa(clients)}
		for _, r := range results {
			if r.clients == clients {
				row = append(row, times(ratio(r.bridge[1], r.bridge[0], cpuOf)))
			}
		}
		t.add(row...)
	}
	return t
}

// absolute are the times that the ratios are of.
func (o *options) absolute(results []result) *table {
	t := &table{title: "Medians of the times themselves, which mean something for one machine and one hour only"}
	t.add("work, clients at once, server", "CPU per call, µs", "calls/s", "p50, µs", "p99, µs")
	for _, r := range results {
		row := func(name string, s []sample) {
			t.add(
				fmt.Sprintf("%s, %d, %s", r.work.name, r.clients, name), micros(medianOf(s, cpuOf)),
				strconv.Itoa(int(medianOf(s, rateOf))), micros(medianOf(s, p50Of)), micros(medianOf(s, p99Of)),
			)
		}
		row("floor", r.floor)
		for i, s := range r.bridge {
			row("bridge "+o.revisions[i], s)
		}
	}
	return t
}
