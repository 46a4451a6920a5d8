package engine

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// taskPurpose is that of the ids of tasks. An id holds, sealed, everything that
// must be known of its task, so the engine remembers none: any number of tasks
// costs no memory, and with one key they survive a restart and work on every
// replica. The bound leaves room to seal the id once more, as a gateway does, and
// to send it in an HTTP header.
var taskPurpose = seal.Purpose{Name: "task of a long-running operation", MaxBytes: 2816}

// The faults of the id of a task.
var (
	errUnknownTask = errors.New("there is no such task")
	errExpiredTask = errors.New("the task has expired")
)

// taskRef says what a task stands for.
type taskRef struct {
	// method is the full name of the RPC that started the operation.
	method string
	// operation is the name of the operation.
	operation string
	// created is when the task was made, in whole milliseconds.
	created time.Time
	// ttl is how long after that the id is good, in whole milliseconds.
	ttl time.Duration
}

// seal returns the id of the task, which only its owner can use.
func (t taskRef) seal(box *seal.Box, owner *protocol.Caller) (string, error) {
	plain := binary.AppendVarint(nil, t.created.UnixMilli())
	plain = binary.AppendVarint(plain, t.ttl.Milliseconds())
	plain = binary.AppendUvarint(plain, uint64(len(t.method)))
	plain = append(append(plain, t.method...), t.operation...)
	// The time is up when the ref says so: an owner is told that it is.
	return box.Seal(taskPurpose, plain, time.Time{}, owner.Key())
}

// openTaskID reads the id of a task. The error is [errUnknownTask] or
// [errExpiredTask].
func openTaskID(box *seal.Box, id string, owner *protocol.Caller) (taskRef, error) {
	plain, err := box.Open(taskPurpose, id, owner.Key())
	if err != nil {
		return taskRef{}, errUnknownTask
	}
	created, n := binary.Varint(plain)
	if n <= 0 {
		return taskRef{}, errUnknownTask
	}
	plain = plain[n:]
	ttl, n := binary.Varint(plain)
	if n <= 0 {
		return taskRef{}, errUnknownTask
	}
	plain = plain[n:]
	length, n := binary.Uvarint(plain)
	if n <= 0 {
		return taskRef{}, errUnknownTask
	}
	plain = plain[n:]
	if length > uint64(len(plain)) {
		return taskRef{}, errUnknownTask
	}
	ref := taskRef{
		method:    string(plain[:length]),
		operation: string(plain[length:]),
		created:   time.UnixMilli(created).UTC(),
		ttl:       time.Duration(ttl) * time.Millisecond,
	}
	if !time.Now().Before(ref.created.Add(ref.ttl)) {
		return taskRef{}, errExpiredTask
	}
	return ref, nil
}
