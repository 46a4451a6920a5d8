package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// options are what is to be measured, and how often.
type options struct {
	rounds    int
	calls     int // of one round; 0 for as many as the work says
	clients   []int
	works     []work
	revisions []string
	parts     []string
	small     bool
	markdown  bool
	bridge    string   // the binary; "" to build it
	bridgeEnv []string // for the bridge's processes only
	profile   string   // directory
}

// Parts of the measurement.
const (
	partCalls       = "calls"
	partAllocations = "allocations"
	partScale       = "scale"
	partMirror      = "mirror"
)

var allParts = []string{partCalls, partMirror, partAllocations, partScale}

// parseOptions reads the flags, and reports all mistakes at once.
func parseOptions(args []string, usage io.Writer) (*options, error) {
	all, err := works()
	if err != nil {
		return nil, err
	}
	o := &options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&o.rounds, "rounds", 7, "measure in so many `rounds`, in each of which every server has its turn")
	f.IntVar(&o.calls, "calls", 0, "calls of each server in a round; 0 for a number that suits the work")
	clients := f.String("clients", "1,16,64", "`numbers` of clients that call at once")
	names := f.String("work", "Echo,Medium,Large,Fetch", "`kinds` of calls")
	revisions := f.String("revision", legacy+","+modern, "`revisions` of MCP")
	parts := f.String("part", strings.Join(allParts, ","), "`parts` to run")
	f.BoolVar(&o.small, "small", false, "measure next to nothing, to see that everything works")
	f.BoolVar(&o.markdown, "markdown", false, "print tables of Markdown")
	f.StringVar(&o.bridge, "bridge", "", "`path` of the bridge's binary; without it, it is built")
	env := f.String("bridge-env", "", "`variables` for the bridge's processes, such as GOGC=400,GOMEMLIMIT=1GiB")
	f.StringVar(&o.profile, "profile", "", "instead of measuring, write profiles of the bridge under load to this `directory`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}

	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for s := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			problem("-clients %q is not a number of clients", s)
		}
		o.clients = append(o.clients, n)
	}
	for s := range strings.SplitSeq(*names, ",") {
		i := slices.IndexFunc(all, func(w work) bool { return w.name == s })
		if i < 0 {
			problem("-work %q is no kind of call", s)
			continue
		}
		o.works = append(o.works, all[i])
	}
	o.revisions = chosen(*revisions, []string{legacy, modern}, func(s string) { problem("-revision %q is not measured", s) })
	o.parts = chosen(*parts, allParts, func(s string) { problem("-part %q does not exist", s) })
	if *env != "" {
		o.bridgeEnv = strings.Split(*env, ",")
	}
	if o.rounds < 1 || o.calls < 0 {
		problem("-rounds %d and -calls %d are too few", o.rounds, o.calls)
	}
	if f.NArg() > 0 {
		problem("there are arguments: %q", f.Args())
	}
	if o.small {
		o.rounds = 1
		for i := range o.works {
			o.works[i].calls = max(4, o.works[i].calls/100)
		}
	}
	if o.calls > 0 {
		for i := range o.works {
			o.works[i].calls = o.calls
		}
	}
	return o, errors.Join(problems...)
}

// chosen splits a list of which every one must be among the known.
func chosen(list string, known []string, unknown func(string)) []string {
	all := strings.Split(list, ",")
	for _, s := range all {
		if !slices.Contains(known, s) {
			unknown(s)
		}
	}
	return all
}
