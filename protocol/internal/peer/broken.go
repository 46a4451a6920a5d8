package peer

import (
	"bytes"
	"slices"
)

// maxIDs bounds the ids that are kept of one broken message.
const maxIDs = 16

// Broken is what can be told of a message that cannot be read: which responses
// it may have been.
type Broken struct {
	// response is whether it looks like responses and nothing else.
	response bool
	// own are the ids that stand where the id of a message does, and all are
	// those and any others.
	own, all [][]byte
}

// ReadBroken looks for ids in an invalid message. Strings and brackets
// count as far as they can be followed.
func ReadBroken(data []byte) Broken {
	var b Broken
	data = bytes.TrimLeft(data, " \t\r\n")
	envelope := 1 // the depth of the members of a message
	switch {
	case bytes.HasPrefix(data, []byte("[")):
		envelope = 2 // a batch
	case !bytes.HasPrefix(data, []byte("{")):
		return b // something that a program prints
	}
	depth := 0
	method := false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := endOfString(data, i)
			name, at := data[i:end], skipSpace(data, end)
			i = end - 1
			if at >= len(data) || data[at] != ':' {
				continue // a value
			}
			switch string(name) {
			case `"method"`:
				method = method || depth == envelope
			case `"jsonrpc"`, `"result"`, `"error"`:
				b.response = true
			case `"id"`:
				id := scalar(data, skipSpace(data, at+1))
				if id == nil || len(b.all) == maxIDs {
					continue
				}
				b.all = append(b.all, id)
				if depth == envelope {
					b.own = append(b.own, id)
				}
			}
		}
	}
	if method {
		return Broken{}
	}
	return b
}

// Answered returns which calls, by id, a broken message was the response to.
// open reports whether a call is open; only is the id of the one call that is
// open, or "" where there are none or several.
func (b Broken) Answered(open func(id string) bool, only string) []string {
	pick := func(ids [][]byte) []string {
		var found []string
		for _, id := range ids {
			if s := string(id); open(s) && !slices.Contains(found, s) {
				found = append(found, s)
			}
		}
		return found
	}
	if len(b.own) > 0 {
		return pick(b.own) // or of calls that are over
	}
	if found := pick(b.all); len(found) == 1 {
		return found
	}
	if b.response && only != "" {
		return []string{only}
	}
	return nil
}

// endOfString returns the index after the string that begins at i, or after all
// data where it does not end.
func endOfString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return i
}

// scalar returns the string or the number that begins at i, or nil.
func scalar(data []byte, i int) []byte {
	if i >= len(data) {
		return nil
	}
	if data[i] == '"' {
		end := endOfString(data, i)
		if end-i < 2 || data[end-1] != '"' {
			return nil
		}
		return data[i:end]
	}
	end := i
	for end < len(data) && (data[end] >= '0' && data[end] <= '9' || bytes.IndexByte([]byte("+-.eE"), data[end]) >= 0) {
		end++
	}
	if end == i || end == len(data) { // cut off: it may have more digits
		return nil
	}
	return data[i:end]
}
