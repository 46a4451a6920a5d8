package eventstream

import (
	"net/http"
	"time"
)

// WriteTimeout bounds one write to a client that does not read.
const WriteTimeout = 30 * time.Second

// Begin sends the head of an event stream. Proxies are asked not to hold
// events back (basic/transports/streamable-http, Receiving Messages).
func Begin(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// WriteFlush writes b and flushes it, within [WriteTimeout] where the server
// supports deadlines; without them a write blocks as long as the connection
// lives. Any write timeout of the server itself is lifted, because it began
// before the call that is answered.
func WriteFlush(w http.ResponseWriter, rc *http.ResponseController, b []byte) error {
	_ = rc.SetWriteDeadline(time.Now().Add(WriteTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	if _, err := w.Write(b); err != nil {
		return err
	}
	return rc.Flush()
}
