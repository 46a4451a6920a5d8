package status

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Said is what a tool says of its failure. MCP has no member for that, so it is read
// where servers put it.
type Said struct {
	// Code is the code that is nearest. Calls that failed with UNAVAILABLE or
	// RESOURCE_EXHAUSTED may be tried again, DEADLINE_EXCEEDED and ABORTED by callers
	// that know what a second call does. It is UNKNOWN where the tool says nothing.
	Code code.Code
	// Delay is how long to wait before, or 0.
	Delay time.Duration
}

// SaidBy returns what the result of a failed tool says: by the status that [Result]
// has put into it; or by the members code, status, statusCode, httpStatus, retryable
// and retryAfter, or names like these, of its _meta, of its structured content or of a
// text that is a JSON object, or of the member error of either; or else by the status
// line of HTTP in its first text, such as "429 Too Many Requests".
func SaidBy(res *protocol.Result) Said {
	if st := OfResult(res); st != nil {
		return Said{Code: code.Code(st.GetCode())}
	}
	structured, _ := jsontok.Lookup(res.Body, "structuredContent")
	text := firstText(res.Body)
	for _, object := range []json.RawMessage{res.Meta, structured, json.RawMessage(strings.TrimSpace(text))} {
		if len(object) == 0 || len(object) > maxSaid || object[0] != '{' || !json.Valid(object) {
			continue
		}
		inner, _ := jsontok.Lookup(object, "error")
		for _, o := range []json.RawMessage{object, inner} {
			if s, ok := readSaid(o); ok {
				return s
			}
		}
	}
	if c := statusLine(text); c != code.Code_UNKNOWN {
		return Said{Code: c}
	}
	return Said{Code: code.Code_UNKNOWN}
}

const (
	// maxSaid bounds the objects that are read, in bytes.
	maxSaid = 64 << 10
	// maxDelay bounds the time to wait.
	maxDelay = 24 * time.Hour
)

// readSaid reads the members of an object. It returns false where none says anything.
func readSaid(object json.RawMessage) (Said, bool) {
	if jsontok.KindOf(object) != jsontok.KindObject {
		return Said{}, false
	}
	var (
		found     = code.Code_UNKNOWN
		delay     time.Duration
		again     bool
		saidAgain bool
	)
	// It is valid.
	_ = jsontok.Object(object, func(key, value []byte) error {
		switch member(string(key)) {
		case "code", "status", "statuscode", "httpstatus", "httpstatuscode", "httpcode", "grpccode", "grpcstatus":
			if c := codeNamed(value); c != code.Code_UNKNOWN && found == code.Code_UNKNOWN {
				found = c
			}
		case "retryable", "retriable", "isretryable", "isretriable", "transient", "istransient", "temporary":
			switch string(value) {
			case "true":
				again, saidAgain = true, true
			case "false":
				again, saidAgain = false, true
			}
		case "retryafter", "retryafterseconds", "retryaftersec":
			delay = delayOf(value, time.Second)
		case "retryafterms", "retryaftermillis":
			delay = delayOf(value, time.Millisecond)
		}
		return nil
	})
	switch retries := found == code.Code_UNAVAILABLE || found == code.Code_RESOURCE_EXHAUSTED; {
	case saidAgain && again && !retries, !saidAgain && delay > 0 && found == code.Code_UNKNOWN:
		found = code.Code_UNAVAILABLE
	case saidAgain && !again && (retries || found == code.Code_UNKNOWN):
		found, delay = code.Code_FAILED_PRECONDITION, 0
	}
	return Said{Code: found, Delay: delay}, found != code.Code_UNKNOWN
}

// member is a name without what spellings differ by.
func member(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// codeNamed returns the code that a value names: by the name of a status of gRPC, or by
// the number of one of HTTP.
func codeNamed(value []byte) code.Code {
	text, ok := jsontok.String(value)
	if !ok {
		text = string(value)
	}
	if n, err := strconv.Atoi(text); err == nil {
		return ofHTTP(n)
	}
	name := strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(text)))
	if c, ok := code.Code_value[name]; ok && c != int32(code.Code_OK) {
		return code.Code(c)
	}
	return code.Code_UNKNOWN
}

// ofHTTP returns the code for a status of HTTP, as google.rpc.Code has it.
func ofHTTP(n int) code.Code {
	switch n {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return code.Code_INVALID_ARGUMENT
	case http.StatusUnauthorized:
		return code.Code_UNAUTHENTICATED
	case http.StatusForbidden:
		return code.Code_PERMISSION_DENIED
	case http.StatusNotFound, http.StatusGone:
		return code.Code_NOT_FOUND
	case http.StatusConflict:
		return code.Code_ABORTED
	case http.StatusPreconditionFailed, http.StatusMethodNotAllowed, http.StatusLocked:
		return code.Code_FAILED_PRECONDITION
	case http.StatusTooManyRequests:
		return code.Code_RESOURCE_EXHAUSTED
	case http.StatusInternalServerError:
		return code.Code_INTERNAL
	case http.StatusNotImplemented:
		return code.Code_UNIMPLEMENTED
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return code.Code_UNAVAILABLE
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return code.Code_DEADLINE_EXCEEDED
	}
	return code.Code_UNKNOWN
}

// delayOf reads a time to wait, in units.
func delayOf(value []byte, unit time.Duration) time.Duration {
	text, ok := jsontok.String(value)
	if !ok {
		text = string(value)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(maxDelay)))
}

var httpStatus = regexp.MustCompile(`\b([45]\d\d) ([A-Z][A-Za-z' -]+)`)

// statusLine returns the code of a status of HTTP in a text, if number and phrase are
// those of one.
func statusLine(text string) code.Code {
	if len(text) > maxToolMessage {
		text = text[:maxToolMessage]
	}
	for _, m := range httpStatus.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if phrase := http.StatusText(n); err == nil && phrase != "" && strings.HasPrefix(m[2], phrase) {
			return ofHTTP(n)
		}
	}
	return code.Code_UNKNOWN
}
