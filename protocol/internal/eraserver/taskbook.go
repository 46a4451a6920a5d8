package eraserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Limits of what a session remembers of its tasks. The oldest ones are
// forgotten first.
const (
	maxTasks      = 256
	maxTaskBytes  = 8 << 20 // of the results of calls that were answered at once
	keptResultTTL = time.Hour
	maxInputs     = 1024 // requests for input of one task
)

// taskBook is what a session remembers of its tasks: their ids, which were
// cancelled, and the results of those that the server answered at once. It is
// used concurrently.
type taskBook struct {
	mu    sync.Mutex
	notes map[string]*taskNote
	order []string // ids, oldest first
	bytes int
	// following are the tasks whose changes are told, with what ends that.
	following map[string]context.CancelFunc
	ended     bool
}

type taskNote struct {
	cancelled bool
	// asked are the keys of the requests for input that the client has been
	// asked. No key of a task means two requests (tasks extension).
	asked map[string]bool
	// result is that of a call which was answered at once. The server knows
	// no task of that id.
	result  json.RawMessage
	created time.Time
}

func newTaskBook() *taskBook { return &taskBook{notes: make(map[string]*taskNote)} }

// add remembers a task.
func (b *taskBook) add(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes[id] == nil {
		b.put(id, &taskNote{})
	}
}

// keep makes a task of a result and returns its Task object. Tasks begin as
// working.
func (b *taskBook) keep(result json.RawMessage, now time.Time) json.RawMessage {
	id := rand.Text()
	note := &taskNote{result: result, created: now}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(id, note)
	return readTask(note.task(id, "working", nil)).object
}

func (b *taskBook) put(id string, note *taskNote) {
	b.notes[id] = note
	b.order = append(b.order, id)
	b.bytes += len(note.result)
	for len(b.order) > 1 && (len(b.order) > maxTasks || b.bytes > maxTaskBytes) {
		b.drop(b.order[0])
	}
}

// local returns the state of a task whose result is kept, or nil.
func (b *taskBook) local(id string, now time.Time) *taskState {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := b.notes[id]
	if note == nil || note.result == nil {
		return nil
	}
	if now.Sub(note.created) >= keptResultTTL {
		b.drop(id)
		return nil
	}
	return readTask(note.task(id, "completed", note.result))
}

func (b *taskBook) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if note := b.notes[id]; note != nil {
		note.cancelled = true
	}
}

func (b *taskBook) cancelled(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := b.notes[id]
	return note != nil && note.cancelled
}

// claim returns those of a task's requests for input that nobody has claimed.
// giveBack is for those that got no answer.
func (b *taskBook) claim(id string, inputs []input) (fresh []input, giveBack func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := b.notes[id]
	if note == nil {
		return nil, func() {} // forgotten
	}
	for _, in := range inputs {
		if note.asked[in.key] || len(note.asked) >= maxInputs {
			continue
		}
		if note.asked == nil {
			note.asked = make(map[string]bool)
		}
		note.asked[in.key] = true
		fresh = append(fresh, in)
	}
	return fresh, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, in := range fresh {
			delete(note.asked, in.key)
		}
	}
}

func (b *taskBook) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(id)
}

func (b *taskBook) drop(id string) {
	if note := b.notes[id]; note != nil {
		b.bytes -= len(note.result)
		delete(b.notes, id)
		b.order = slices.DeleteFunc(b.order, func(s string) bool { return s == id })
	}
}

// page returns up to n ids after that of the cursor, which may be empty, and
// whether there are more. It is false of a cursor that is no id.
func (b *taskBook) page(cursor string, n int) (ids []string, more, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.order
	if cursor != "" {
		i := slices.Index(rest, cursor)
		if i < 0 {
			return nil, false, false
		}
		rest = rest[i+1:]
	}
	if len(rest) > n {
		return slices.Clone(rest[:n]), true, true
	}
	return slices.Clone(rest), false, true
}

// task is the task as the extension has it.
func (n *taskNote) task(id, status string, result json.RawMessage) json.RawMessage {
	at := n.created.UTC().Format("2006-01-02T15:04:05.000Z")
	out := jsontok.AppendString([]byte(`{"taskId":`), id)
	out = fmt.Appendf(out, `,"status":%q,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":`, status, at, at)
	out = strconv.AppendInt(out, keptResultTTL.Milliseconds(), 10)
	if result != nil {
		out = append(append(out, `,"result":`...), result...)
	}
	return append(out, '}')
}
