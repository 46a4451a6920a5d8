package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a file that is being watched.
type watched struct {
	t    *testing.T
	path string
	got  chan string
}

// watch watches a file until the test ends.
func watch(t *testing.T, path string, pollOnly bool) *watched {
	t.Helper()
	f, err := config.Load(path, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, path: path, got: make(chan string, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	opts := config.WatchOptions{Poll: time.Hour, Debounce: 20 * time.Millisecond}
	if pollOnly {
		opts.Poll, opts.PollOnly = 10*time.Millisecond, true
	}
	done := make(chan error, 1)
	go func() {
		done <- config.Watch(ctx, path, f, opts, func(f *config.File, err error) {
			if err != nil {
				w.got <- "error: " + err.Error()
				return
			}
			u := f.Config.GetUpstreams()["a"]
			w.got <- u.GetUrl() + " " + strings.Join(u.GetHeaders()["x"].GetValues(), ",")
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returns %v", err)
		}
	})
	return w
}

// want waits for a configuration, past those of a state between.
func (w *watched) want(text string) {
	w.t.Helper()
	for {
		select {
		case got := <-w.got:
			if strings.Contains(got, text) {
				return
			}
		case <-time.After(30 * time.Second):
			w.t.Fatalf("no configuration with %q", text)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// yamlOf is a configuration with the URL of a port, and a header.
func yamlOf(port int, header string) string {
	return fmt.Sprintf("upstreams: {a: {url: \"grpc://h:%d\", headers: {x: %q}}}\n", port, header)
}

func eachWay(t *testing.T, test func(t *testing.T, pollOnly bool)) {
	t.Helper()
	for name, pollOnly := range map[string]bool{"notified": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, pollOnly)
		})
	}
}

func TestWatchWrites(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, pollOnly bool) {
		path := filepath.Join(t.TempDir(), "mcp-bridge.yaml")
		write(t, path, yamlOf(1, "a"))
		w := watch(t, path, pollOnly)

		write(t, path, yamlOf(2, "a")) // in place
		w.want("grpc://h:2 a")

		write(t, path+".new", yamlOf(3, "a")) // as editors do
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		w.want("grpc://h:3 a")

		write(t, path, "upstreams: {a: {ulr: x}}")
		w.want("error: " + path + ":1:17: upstreams.a.ulr: unknown key")

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		w.want("does not exist")
		write(t, path, yamlOf(4, "a"))
		w.want("grpc://h:4 a")
	})
}

func TestWatchFollowsReferences(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, pollOnly bool) {
		dir := t.TempDir()
		secrets := filepath.Join(dir, "secrets")
		if err := os.Mkdir(secrets, 0o750); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "mcp-bridge.yaml")
		write(t, filepath.Join(secrets, "one"), "1\n")
		write(t, path, yamlOf(1, "${file:secrets/one}"))
		w := watch(t, path, pollOnly)
		write(t, filepath.Join(secrets, "one"), "2\n")
		w.want("grpc://h:1 2")
		write(t, path, yamlOf(1, "${file:secrets/two}"))
		w.want("two does not exist")
		write(t, filepath.Join(secrets, "two"), "3\n") // which nobody could watch before
		w.want("grpc://h:1 3")
	})
}

// TestWatchConfigMap swaps a directory as the kubelet does: mcp-bridge.yaml is a
// link to ..data/mcp-bridge.yaml, and ..data one to a directory with a time.
func TestWatchConfigMap(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, pollOnly bool) {
		dir := t.TempDir()
		link := func(target, name string) {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		version := func(i int) {
			name := fmt.Sprintf("..2026_%d", i)
			if err := os.Mkdir(filepath.Join(dir, name), 0o750); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name, "mcp-bridge.yaml"), yamlOf(i, "${file:token}"))
			write(t, filepath.Join(dir, name, "token"), fmt.Sprintf("t%d", i))
			link(name, "..data_tmp")
			if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
				t.Fatal(err)
			}
			if i > 1 {
				if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_%d", i-1))); err != nil {
					t.Fatal(err)
				}
			}
		}
		version(1)
		link("..data/mcp-bridge.yaml", "mcp-bridge.yaml")
		link("..data/token", "token")
		w := watch(t, filepath.Join(dir, "mcp-bridge.yaml"), pollOnly)
		for i := 2; i < 5; i++ {
			version(i)
			w.want(fmt.Sprintf("grpc://h:%d t%d", i, i))
		}
	})
}

// TestWatchStart reads a file at the start, if there is no configuration yet,
// and not again as long as it is only touched.
func TestWatchStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp-bridge.yaml")
	write(t, path, yamlOf(1, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan string, 10)
	done := make(chan error, 1)
	go func() {
		done <- config.Watch(ctx, path, nil, config.WatchOptions{Poll: time.Millisecond, Debounce: time.Millisecond}, func(f *config.File, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- f.Config.GetUpstreams()["a"].GetUrl()
		})
	}()
	if url := <-got; url != "grpc://h:1" {
		t.Errorf("first %s", url)
	}
	for _, port := range []int{1, 2} { // the first is the same
		write(t, path+".new", yamlOf(port, "a"))
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for url := <-got; url != "grpc://h:2"; url = <-got {
		t.Errorf("then %s", url)
	}
	cancel()
	<-done
}
