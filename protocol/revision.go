package protocol

import "slices"

// Revision is a dated revision of the MCP specification, as it goes over the
// wire. Revisions order as strings do.
type Revision string

// The revisions that this module speaks.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

// LatestLegacy is the newest revision that opens with initialize, and what a
// client is answered that asks initialize for a revision it cannot have.
const LatestLegacy = Revision20251125

var revisions = []Revision{
	Revision20260728, Revision20251125, Revision20250618, Revision20250326, Revision20241105,
}

// Revisions returns every revision that this module speaks, newest first.
func Revisions() []Revision { return slices.Clone(revisions) }

// AppendRevisions appends what [Revisions] returns as a JSON array, as
// server/discover has it in supportedVersions.
func AppendRevisions(dst []byte) []byte {
	for i, r := range revisions {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		dst = append(append(append(append(dst, sep), '"'), r...), '"')
	}
	return append(dst, ']')
}

// Known reports whether this module speaks r.
func (r Revision) Known() bool { return slices.Contains(revisions, r) }

// Modern reports whether requests of r carry their own metadata instead of
// relying on a session. It is true of later, unknown revisions too.
func (r Revision) Modern() bool { return r >= Revision20260728 }
