package backend

import (
	"strconv"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/operation"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// MaxProgressText bounds [Progress.Text], in bytes.
const MaxProgressText = 500

// Progress is what the metadata of an operation says.
type Progress struct {
	// Text is the metadata as compact JSON, cut at [MaxProgressText], or ""
	// where there is none or its type is unknown.
	Text string
	// Percent is how much is done, from 0 to 100. It is negative where the
	// metadata does not say so.
	Percent float64
	// Updated is when the service says that the operation has changed last,
	// or zero.
	Updated time.Time
}

// percentMembers are the names under which the metadata of public APIs says
// how much is done, in percent.
var percentMembers = map[string]bool{
	"progressPercent": true, "progressPercentage": true, "percentComplete": true, "percentDone": true, "percent": true,
}

// progress reads metadata, which may be nil.
func (o *Operations) progress(metadata *operation.Any) Progress {
	p := Progress{Percent: -1}
	if metadata == nil {
		return p
	}
	typ, err := o.plan.env.Types.FindMessageByURL(metadata.URL)
	if err != nil {
		return p
	}
	codec, err := o.plan.env.Codecs.Codec(typ.Descriptor())
	if err != nil {
		return p
	}
	text, _, err := codec.AppendJSON(nil, metadata.Value)
	if err != nil {
		return p
	}
	// The text is JSON of our own making, and the visitor returns no error.
	_ = jsontok.Object(text, func(key, value []byte) error {
		switch name := string(key); {
		case percentMembers[name]:
			number := string(value)
			if s, ok := jsontok.String(value); ok { // of a 64-bit integer
				number = s
			}
			if v, err := strconv.ParseFloat(number, 64); err == nil && v >= 0 && v <= 100 {
				p.Percent = v
			}
		case name == "updateTime" || name == "endTime":
			s, _ := jsontok.String(value)
			if t, err := time.Parse(time.RFC3339Nano, s); err == nil && t.After(p.Updated) {
				p.Updated = t
			}
		}
		return nil
	})
	p.Text = clip.Text(string(text), MaxProgressText)
	return p
}
