package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"
)

// checker checks answers. An answer that differs from a checked one in the
// digits of its id only is compared by its bytes, so that checking takes little
// of the time that is measured.
type checker struct {
	work *work

	mu      sync.Mutex
	checked [][2][]byte // what comes before and after the id
}

// maxChecked bounds how many answers a checker remembers.
const maxChecked = 16

// check checks the answer to the last call of a client: its id and the whole of
// its value, in both forms.
func (k *checker) check(c *client) error {
	id := []byte(strconv.Itoa(firstID + c.lastID))
	before, after, ok := bytes.Cut(c.body.Bytes(), id)
	if !ok {
		return fmt.Errorf("%s: the answer does not have id %s: %.300s", k.work.name, id, c.body.Bytes())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, known := range k.checked {
		if bytes.Equal(known[0], before) && bytes.Equal(known[1], after) {
			return nil
		}
	}
	if err := k.work.verify(c.body.Bytes(), id); err != nil {
		return fmt.Errorf("%s: %w: %.300s", k.work.name, err, c.body.Bytes())
	}
	if len(k.checked) < maxChecked {
		k.checked = append(k.checked, [2][]byte{bytes.Clone(before), bytes.Clone(after)})
	}
	return nil
}

// verify checks one answer in full.
func (w *work) verify(body, id []byte) error {
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
		Result  struct {
			IsError    bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
			Content    []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	switch r := answer.Result; {
	case answer.Version != "2.0" || !bytes.Equal(answer.ID, id):
		return fmt.Errorf("id %s of version %q, want %s", answer.ID, answer.Version, id)
	case answer.Error != nil || r.IsError:
		return fmt.Errorf("the call failed")
	case len(r.Content) == 0 || r.Content[0].Type != "text": // remarks may follow
		return fmt.Errorf("%d blocks of content, of which the first is no text", len(r.Content))
	default:
		if err := w.sameValue(r.Structured); err != nil {
			return fmt.Errorf("structuredContent: %w", err)
		}
		if err := w.sameValue([]byte(r.Content[0].Text)); err != nil {
			return fmt.Errorf("text: %w", err)
		}
		return nil
	}
}

func (w *work) sameValue(raw []byte) error {
	got := w.want.ProtoReflect().New().Interface()
	if err := fromJSON(raw, got); err != nil {
		return err
	}
	if !proto.Equal(got, w.want) {
		return fmt.Errorf("the value is not the expected one")
	}
	return nil
}
