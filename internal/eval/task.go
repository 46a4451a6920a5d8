package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	evalv1 "github.com/mcp-bridge/mcp-bridge/gen/eval/v1"
)

// class is a kind of task that models get wrong.
type class string

const (
	classNo        class = "answers that are no"
	classDelete    class = "deletes"
	classMask      class = "partial updates"
	classPages     class = "pages"
	classBytes     class = "bytes"
	classOpaque    class = "opaque tokens"
	classNested    class = "nested arguments"
	classAmbiguous class = "tools that resemble each other"
)

// classes are in the order of the report.
var classes = []class{classNo, classDelete, classMask, classPages, classBytes, classOpaque, classNested, classAmbiguous}

// task is something to do with the tools, whose outcome can be checked.
type task struct {
	id     string
	class  class
	prompt string
	// change makes of a fresh world what is to be of it in the end, or is nil where the
	// task changes nothing.
	change func(w *world)
	// answered reports what is wrong with the answer, or with how it was found. It may
	// be nil.
	answered func(w *world, answer string) error
}

// check reports what is wrong in the end.
func (t *task) check(w *world, answer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := newWorld()
	if t.change != nil {
		t.change(want)
	}
	if err := want.differs(w); err != nil {
		return err
	}
	if t.answered == nil {
		return nil
	}
	return t.answered(w, answer)
}

// differs reports a difference between the state of two worlds.
func (w *world) differs(other *world) error {
	if !maps.Equal(w.grants, other.grants) {
		return fmt.Errorf("the relations are %q, want %q", slices.Sorted(maps.Keys(other.grants)), slices.Sorted(maps.Keys(w.grants)))
	}
	if !maps.EqualFunc(w.blobs, other.blobs, bytes.Equal) {
		return fmt.Errorf("the blobs are %q, want %q", other.blobs, w.blobs)
	}
	for _, id := range slices.Sorted(maps.Keys(w.contacts)) {
		if got := other.contacts[id]; !proto.Equal(w.contacts[id], got) {
			return fmt.Errorf("contact %s is {%v}, want {%v}", id, got, w.contacts[id])
		}
	}
	if len(w.contacts) != len(other.contacts) {
		return fmt.Errorf("there are %d contacts, want %d", len(other.contacts), len(w.contacts))
	}
	return nil
}

// says reports an answer that has not all of the words, or one of those after "!".
func says(all ...string) func(*world, string) error {
	return func(_ *world, answer string) error {
		words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		text := " " + strings.Join(words, " ") + " "
		for _, word := range all {
			word, not := strings.CutPrefix(word, "!")
			if strings.Contains(text, " "+word+" ") == not {
				return fmt.Errorf("the answer is %q, want one with %q", answer, all)
			}
		}
		return nil
	}
}

// checked is says for an answer that a check must have given.
func checked(all ...string) func(*world, string) error {
	return func(w *world, answer string) error {
		if w.checks == 0 {
			return errors.New("nobody asked CheckAccess")
		}
		return says(all...)(w, answer)
	}
}

// verified is checked for a check that saw the last change.
func verified(all ...string) func(*world, string) error {
	return func(w *world, answer string) error {
		if !w.fresh {
			return errors.New("the last CheckAccess did not name the token of the last change")
		}
		return checked(all...)(w, answer)
	}
}

// tasks are all tasks.
var tasks = []*task{
	{
		id: "no-writer", class: classNo, prompt: `May the user bob write the document "plan"? Answer yes or no.`,
		answered: checked("no", "!yes"),
	},
	{
		id: "no-group", class: classNo, prompt: `May the group "sales" read the document "plan"? Answer yes or no.`,
		answered: checked("no", "!yes"),
	},
	{
		id: "delete-contact", class: classDelete, prompt: "Delete the contact c3.",
		change: func(w *world) { delete(w.contacts, "c3") },
	},
	{
		id: "delete-nothing", class: classDelete, prompt: `Delete the blob "tmp/1". Was there one? Answer yes or no.`,
		answered: says("no", "!yes"),
	},
	{
		id: "mask-city", class: classMask, prompt: "The contact c1 has moved to the city Lillehammer. Change that, and nothing else about the contact.",
		change: func(w *world) { w.contacts["c1"].Address.City = "Lillehammer" },
	},
	{
		id: "mask-clear", class: classMask, prompt: "Remove all labels of the contact c2, and change nothing else about it.",
		change: func(w *world) { w.contacts["c2"].Labels = nil },
	},
	{
		id: "pages-count", class: classPages, prompt: "How many contacts live in Norway (NO)? Answer with a number in digits.",
		answered: says("4"),
	},
	{
		id: "pages-last", class: classPages, prompt: "What is the name of the contact that comes last in the list of contacts?",
		answered: says("hugo ibsen"),
	},
	{
		id: "bytes-put", class: classBytes, prompt: `Store the text "test" under the key "greeting".`,
		change: func(w *world) { w.blobs["greeting"] = []byte("test") },
	},
	{
		id: "bytes-get", class: classBytes, prompt: `Which text is stored under the key "motto"?`,
		answered: says("carpe diem"),
	},
	{
		id: "token-grant", class: classOpaque,
		prompt: `Let the user carol read the document "plan". Then check that she can, with a check that is sure to see the change. Can she? Answer yes or no.`,
		change: func(w *world) {
			w.grants[keyOf(tuple("user", "carol", evalv1.Relation_RELATION_READER, "plan"))] = true
		},
		answered: verified("yes", "!no"),
	},
	{
		id: "token-revoke", class: classOpaque,
		prompt: `The user dave must not read the document "budget" any more. See to it, then check it, with a check that is sure to see the change. Can he still read it? Answer yes or no.`,
		change: func(w *world) {
			delete(w.grants, keyOf(tuple("user", "dave", evalv1.Relation_RELATION_READER, "budget")))
		},
		answered: verified("no", "!yes"),
	},
	{
		id: "nested-grant", class: classNested, prompt: `Let the group "eng" write the document "plan".`,
		change: func(w *world) {
			w.grants[keyOf(tuple("group", "eng", evalv1.Relation_RELATION_WRITER, "plan"))] = true
		},
	},
	{
		id: "nested-create", class: classNested, prompt: "Add the contact Ines Juhl, who lives at Nygade 9 in Odense, Denmark (DK). Label her \"press\".",
		change: func(w *world) {
			w.contacts["c9"] = &evalv1.Contact{
				Id: "c9", Name: "Ines Juhl", Labels: []string{"press"}, Address: &evalv1.Address{Street: "Nygade 9", City: "Odense", Country: "DK"},
			}
		},
	},
	{
		id: "ambiguous-archive", class: classAmbiguous, prompt: "Get the contact c4 out of the way, but keep its data.",
		change: func(w *world) { w.contacts["c4"].Archived = true },
	},
	{
		id: "ambiguous-erase", class: classAmbiguous, prompt: "Erase the contact c5 so that nothing of it is left.",
		change: func(w *world) { delete(w.contacts, "c5") },
	},
}
