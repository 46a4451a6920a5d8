package eraclient

import (
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// spoken is the set of the revisions in which a server has answered.
type spoken struct{ bits atomic.Uint32 }

// add adds a revision.
func (s *spoken) add(r protocol.Revision) {
	for i, known := range protocol.Revisions() {
		if bit := uint32(1) << i; known == r && s.bits.Load()&bit == 0 {
			s.bits.Or(bit)
		}
	}
}

// list returns the revisions, newest first.
func (s *spoken) list() []protocol.Revision {
	var all []protocol.Revision
	bits := s.bits.Load()
	for i, known := range protocol.Revisions() {
		if bits&(1<<i) != 0 {
			all = append(all, known)
		}
	}
	return all
}

// Revisions returns the revisions in which the server has answered since it was last
// found out what it speaks, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.spoken.list() }
