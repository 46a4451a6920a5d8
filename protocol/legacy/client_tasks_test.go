package legacy

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestKnownTasks: callers have a limited number of tasks each, and all of them
// together too, until their time is over.
func TestKnownTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var known clientTasks
		s := &clientSession{}
		add := func(owner string, n int) (*clientTask, bool) {
			task := &clientTask{
				session: s, id: fmt.Sprint(owner, n), remote: fmt.Sprint("r", owner, n), owner: owner,
				expires: time.Now().Add(time.Hour), news: make(chan struct{}),
			}
			return task, known.add(task)
		}
		const owners = maxKnown/maxOwned + 1
		refused := 0
		for o := range owners {
			for n := range maxOwned + 1 { // the last one of each pushes out the first
				if _, ok := add(fmt.Sprint(o, "-"), n); !ok {
					refused++
				}
			}
		}
		if want := owners*maxOwned - maxKnown; len(known.known) != maxKnown || refused < want || len(s.related.all()) != maxKnown {
			t.Errorf("%d are known, %d to the session, %d were refused", len(known.known), len(s.related.all()), refused)
		}
		if known.find("0-0", "0-") != nil || known.find("0-1", "0-") == nil || known.find("0-1", "1-") != nil {
			t.Error("the wrong ones are known")
		}
		time.Sleep(time.Hour + taskGrace + time.Minute) //nolint:forbidigo // of the bubble's time
		last, ok := add("last", 1)
		if !ok || len(known.known) != 1 || len(known.owners) != 1 || len(s.related.all()) != 1 {
			t.Errorf("%d are left after their time", len(known.known))
		}
		known.remove(last)
		known.remove(last)
		if len(known.known)+len(known.owners)+len(s.related.all()) != 0 {
			t.Error("one is left")
		}
	})
}

// FuzzServerTask: whatever a server says of a task is one JSON object with our
// id.
func FuzzServerTask(f *testing.F) {
	for _, s := range []string{
		`{"taskId":"t","status":"working","ttl":1,"pollInterval":5,"createdAt":"c","statusMessage":"m","x":[1.0],"_meta":{}}`,
		`{"taskId":"t","status":"working","ttl":null,"taskid":1,"ttlMs":2}`, `{"taskId":"t","status":"x","pollInterval":1e400}`,
		`{"taskId":1,"status":"working"}`, `{}`, `[]`, `{`, ``,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return // messages are valid
		}
		task, ok := readServerTask(json.RawMessage(raw))
		if !ok {
			return
		}
		if d := task.lifetime(); d < 0 || d > maxTaskKept || task.poll < 0 {
			t.Errorf("lifetime %s, poll %s", d, task.poll)
		}
		got := task.extension("ours", withResult(&protocol.Result{}))
		if !json.Valid(got) {
			t.Fatalf("%s gives %s", raw, got)
		}
		seen := make(map[string]int)
		if err := jsontok.Object(got, func(key, _ []byte) error { seen[string(key)]++; return nil }); err != nil {
			t.Fatalf("%s gives %s: %v", raw, got, err)
		}
		if id, _ := jsontok.Lookup(got, "taskId"); string(id) != `"ours"` || seen["status"] != 1 || seen["ttlMs"] != 1 || seen["result"] != 1 {
			t.Fatalf("%s gives %s", raw, got)
		}
	})
}
