package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

// command runs the program.
func command(ctx context.Context, args []string, env func(string) string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	replay := flags.String("replay", "", "replay the recording in this `file` in place of asking a model")
	record := flags.String("record", "", "write a recording to this `file`")
	only := flags.String("tasks", "", "do only the tasks whose ids contain this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	var m model
	if *replay != "" {
		m, err = openReplayer(*replay)
	} else {
		if env("MCP_EVAL_URL") == "" {
			return errors.New("set MCP_EVAL_URL, such as https://api.openai.com/v1 or https://api.anthropic.com/v1, with MCP_EVAL_MODEL and MCP_EVAL_KEY; or pass -replay FILE")
		}
		m, err = newModel(env("MCP_EVAL_SHAPE"), env("MCP_EVAL_URL"), env("MCP_EVAL_KEY"), env("MCP_EVAL_MODEL"))
	}
	if err != nil {
		return err
	}
	if *record != "" {
		r := &recorder{model: m, said: make(recording)}
		m = r
		defer func() { err = errors.Join(err, writeFile(*record, r)) }()
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

func writeFile(path string, r *recorder) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(r.write(f), f.Close())
}
