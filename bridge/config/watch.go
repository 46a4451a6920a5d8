package config

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// DefaultPoll is how often [Watch] looks at the files, because network file
	// systems do not tell of changes.
	DefaultPoll = 10 * time.Second
	// DefaultDebounce is how long files must stay the same before [Watch] reads
	// them: editors and tools write in several steps.
	DefaultDebounce = 200 * time.Millisecond

	// maxDebounces bounds how long files that keep changing are waited for.
	maxDebounces = 10
)

// WatchOptions are the choices of [Watch]. The zero value has the defaults.
type WatchOptions struct {
	// Options are those of [Load].
	Options Options
	// Poll is how often to look at the files, in place of [DefaultPoll].
	Poll time.Duration
	// Debounce is how long files must stay the same before they are read, in
	// place of [DefaultDebounce].
	Debounce time.Duration
	// PollOnly does without notifications of the operating system.
	PollOnly bool
}

// Watch reads a configuration file each time that its content changes, or that
// of a file that it depends on, until ctx ends; then it returns the error of ctx.
// It compares content, so a file that is only touched is not read again. Changes
// are noticed by notifications, also where a file is replaced or a directory is
// swapped by a symbolic link, as Kubernetes does with a ConfigMap, and otherwise
// by polling.
//
// apply gets what [Load] returns: the new configuration, or why there is none.
// The caller keeps the last good one then. apply is not called concurrently, and
// not for the content that f was read from. With a nil f, it is called once at
// the start.
func Watch(ctx context.Context, path string, f *File, opts WatchOptions, apply func(*File, error)) error {
	if opts.Poll <= 0 {
		opts.Poll = DefaultPoll
	}
	if opts.Debounce <= 0 {
		opts.Debounce = DefaultDebounce
	}
	w := &watcher{path: path, opts: opts}
	if !opts.PollOnly {
		// Without notifications, polling is all there is.
		if w.events, _ = fsnotify.NewWatcher(); w.events != nil {
			defer func() { _ = w.events.Close() }() // nothing is lost with it
		}
	}
	if f != nil {
		w.sums = f.sums
	} else {
		w.load(apply)
	}
	return w.run(ctx, apply)
}

// watcher is one Watch.
type watcher struct {
	path string
	opts WatchOptions
	// sums are what the configuration depends on, as it was when it was read.
	sums   sums
	events *fsnotify.Watcher // or nil
}

func (w *watcher) run(ctx context.Context, apply func(*File, error)) error {
	var (
		events <-chan fsnotify.Event
		faults <-chan error
	)
	if w.events != nil {
		events, faults = w.events.Events, w.events.Errors
	}
	poll := time.NewTicker(w.opts.Poll)
	defer poll.Stop()
	for {
		// Only then does a change show: one before it would not be notified of.
		w.follow()
		if !maps.Equal(w.sums.now(), w.sums) {
			if err := w.settle(ctx, events); err != nil {
				return err
			}
			if !maps.Equal(w.sums.now(), w.sums) {
				w.load(apply)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		case <-faults: //nolint:errcheck // such as too many events: look at the files
		case <-events:
		}
	}
}

// settle waits until the files have stayed the same for a while.
func (w *watcher) settle(ctx context.Context, events <-chan fsnotify.Event) error {
	timer := time.NewTimer(w.opts.Debounce)
	defer timer.Stop()
	last := w.sums.now()
	for range maxDebounces {
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-events: // what it means shows below
			case <-timer.C:
				waiting = false
			}
		}
		sums := w.sums.now()
		if maps.Equal(sums, last) {
			return nil
		}
		last = sums
		timer.Reset(w.opts.Debounce)
	}
	return nil
}

// load reads the file, and the others that it names now.
func (w *watcher) load(apply func(*File, error)) {
	f, err := load(w.path, w.opts.Options)
	w.sums = f.sums
	if err != nil {
		f = nil
	}
	apply(f, err)
}

// follow asks for notifications of the directories that the files are in, along
// all symbolic links. Those that cannot be watched are polled.
func (w *watcher) follow() {
	if w.events == nil {
		return
	}
	wanted := make(map[string]bool)
	for path := range w.sums {
		for _, dir := range directories(path) {
			wanted[dir] = true
		}
	}
	for _, dir := range w.events.WatchList() {
		if !wanted[dir] {
			_ = w.events.Remove(dir) // it may be gone already
		}
	}
	for dir := range wanted {
		_ = w.events.Add(dir) // see above
	}
}

// maxLinks bounds how many symbolic links are followed.
const maxLinks = 40

// directories returns the directories whose entries lead to a path: its own, and
// that of each symbolic link on the way.
func directories(path string) []string {
	dirs := []string{filepath.Dir(path)}
	for range maxLinks {
		dir, ok := firstLink(path)
		if !ok {
			break
		}
		dirs = append(dirs, filepath.Dir(dir.link))
		path = dir.path
		dirs = append(dirs, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// followed is a symbolic link on the way to a path, and the path without it.
type followed struct{ link, path string }

// firstLink finds the first element of a path that is a symbolic link.
func firstLink(path string) (followed, bool) {
	rest := ""
	for at := filepath.Clean(path); ; {
		parent := filepath.Dir(at)
		if parent == at {
			return followed{}, false
		}
		if target, err := os.Readlink(at); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(parent, target)
			}
			return followed{link: at, path: filepath.Join(target, rest)}, true
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}
