package protocol

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Keys that the specification reserves in _meta (basic/index, Reserved keys).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaProgressToken      = "progressToken"
	MetaRelatedTask        = "io.modelcontextprotocol/related-task" // 2025-11-25
)

// Meta is what a request says about itself. For modern clients it comes from
// the request's own _meta, for legacy ones from their session.
type Meta struct {
	// Revision is the revision that the client speaks.
	Revision Revision
	// ClientInfo is the client's Implementation object, or nil.
	ClientInfo json.RawMessage
	// Capabilities is the client's ClientCapabilities object, or nil.
	Capabilities json.RawMessage
	// LogLevel is the least severe level of log message that the client
	// wants for this request. LogNone, the zero value, means none at all, and
	// LogUnset what the server sends by itself.
	LogLevel LogLevel
	// ProgressToken is the client's token, a JSON string or number, or nil
	// where it does not want to hear of progress.
	ProgressToken json.RawMessage
	// TraceParent, TraceState and Baggage are the W3C trace context.
	TraceParent, TraceState, Baggage string
	// Session is the session of a legacy client with its front, or nil.
	Session *ClientSession
}

// ClientSession is the session of a client of a legacy revision with its front.
// Upstreams that have sessions keep one for each, so that servers tell such
// clients apart as if they were called directly.
type ClientSession struct {
	// ID tells the session from others. It is not the id that the client has, and
	// gives nobody access.
	ID string
	// Done is closed once the session is over.
	Done <-chan struct{}
	// Tell passes on a notification that belongs to no request, unless the client
	// does not want it. It does not block. It is nil where the client has no stream
	// for such notifications.
	Tell func(n *Notification)
}

// SessionID returns the ID of the session, or "" where there is none.
func (m *Meta) SessionID() string {
	if m.Session == nil {
		return ""
	}
	return m.Session.ID
}

// LogLevel is the severity of a log message (server/utilities/logging). The
// levels are those of RFC 5424, with debug the lowest.
type LogLevel int

// The log levels, from the least to the most severe.
const (
	LogNone LogLevel = iota
	LogDebug
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

// LogUnset stands for a client of a revision before 2026-07-28 that has set no level:
// the server decides what to send (2025-11-25 server/utilities/logging).
const LogUnset LogLevel = -1

// Asked returns the level by which to ask a server that sends nothing by itself.
func (l LogLevel) Asked() LogLevel {
	if l == LogUnset {
		return LogInfo
	}
	return l
}

var logLevels = [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String returns the level as it goes over the wire, or "" for LogNone.
func (l LogLevel) String() string {
	if l < 0 || int(l) >= len(logLevels) {
		return ""
	}
	return logLevels[l]
}

// ParseLogLevel returns the level named s, and false where there is none.
func ParseLogLevel(s string) (LogLevel, bool) {
	for i, name := range logLevels {
		if i > 0 && name == s {
			return LogLevel(i), true
		}
	}
	return LogNone, false
}

// Wants reports whether a client has asked, by l, for a message at level m.
func (l LogLevel) Wants(m LogLevel) bool { return l > LogNone && m >= l }

// HasCapability reports whether a ClientCapabilities object, which may be nil,
// has the capability name, and in it member unless that is empty. An elicitation
// capability that names no mode has "form" (client/elicitation, Capabilities).
func HasCapability(capabilities json.RawMessage, name, member string) bool {
	v, ok := jsontok.Lookup(capabilities, name)
	if !ok || jsontok.KindOf(v) != jsontok.KindObject {
		return false
	}
	if member == "" {
		return true
	}
	if _, ok := jsontok.Lookup(v, member); ok {
		return true
	}
	if name != "elicitation" || member != "form" {
		return false
	}
	_, url := jsontok.Lookup(v, "url")
	return !url
}

// HasExtension reports whether a ClientCapabilities or ServerCapabilities
// object, which may be nil, declares the extension name.
func HasExtension(capabilities json.RawMessage, name string) bool {
	extensions, ok := jsontok.Lookup(capabilities, "extensions")
	if !ok || jsontok.KindOf(extensions) != jsontok.KindObject {
		return false
	}
	settings, ok := jsontok.Lookup(extensions, name)
	return ok && jsontok.KindOf(settings) == jsontok.KindObject
}

// InputCapability returns the capability that a client needs in order to answer
// a request of the server, and the member of it, if there is one. It returns
// nothing for a request that no client answers.
func InputCapability(method string, params json.RawMessage) (name, member string) {
	switch method {
	case MethodElicit:
		member = "form"
		if mode, ok := jsontok.Lookup(params, "mode"); ok {
			member, _ = jsontok.String(mode)
		}
		return "elicitation", member
	case MethodSample:
		if _, ok := jsontok.Lookup(params, "tools"); ok {
			member = "tools"
		}
		return "sampling", member
	case MethodListRoots:
		return "roots", ""
	}
	return "", ""
}
