package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

// command runs the program.
func command(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	replay := flags.String("replay", "", "replay the recording in this `file`")
	only := flags.String("tasks", "", "do only the tasks whose ids contain this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	m, err := openReplayer(*replay)
	if err != nil {
		return err
	}
	runs := doAll(ctx, m, *only)
	if len(runs) == 0 {
		return fmt.Errorf("no task has %q in its id", *only)
	}
	_, err = io.WriteString(stdout, report(runs))
	return err
}

// doAll does the tasks whose ids contain a text, one after the other: endpoints bound
// how often they are asked.
func doAll(ctx context.Context, m model, only string) []*run {
	var runs []*run
	for _, t := range tasks {
		if strings.Contains(t.id, only) {
			runs = append(runs, do(ctx, m, t))
		}
	}
	return runs
}
