package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// recording is what a model said in every task, by the task's id.
type recording map[string][]reply

// replayer is a model that says what another one has said: deterministic, because the
// backends are. It is used concurrently.
type replayer struct{ said recording }

// openReplayer returns the model that has been recorded in a file.
func openReplayer(path string) (*replayer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &replayer{}
	if err := json.Unmarshal(data, &m.said); err != nil {
		return nil, fmt.Errorf("%s is no recording: %w", path, err)
	}
	return m, nil
}

// next returns the recorded reply.
func (m *replayer) next(_ context.Context, c *conversation) (*reply, error) {
	said := m.said[c.task]
	if len(c.turns) >= len(said) {
		return nil, fmt.Errorf("the recording of %s has %d replies; record it again", c.task, len(said))
	}
	return &said[len(c.turns)], nil
}

// recorder records what a model says.
type recorder struct {
	model

	mu   sync.Mutex
	said recording
}

// next asks the model and records the reply.
func (m *recorder) next(ctx context.Context, c *conversation) (*reply, error) {
	r, err := m.model.next(ctx, c)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.said[c.task] = append(m.said[c.task], *r)
	}
	return r, err
}

// write writes the recording.
func (m *recorder) write(to io.Writer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.said) == 0 {
		return errors.New("there is nothing to record")
	}
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(m.said)
}
