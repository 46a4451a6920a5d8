// Package secret keeps secrets out of what people read: credentials in URLs, and
// values that were sent to a peer and that the peer repeats.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Redacted stands for a value that is not shown.
const Redacted = "[redacted]"

const (
	// minSecret and minOther are the lengths from which on values are looked
	// for, of secret names and of others. Shorter ones occur in any text.
	minSecret = 4
	minOther  = 8
	// maxRecent is how many values of single requests are remembered.
	maxRecent = 256
)

// Values are the values that a peer has been given and must not be shown when it
// repeats them. The zero value holds none. Values are used concurrently.
type Values struct {
	mu       sync.Mutex
	known    map[string]struct{} // with all spellings
	recent   []string            // those of single requests, oldest first
	replacer *strings.Replacer   // of known, or nil where that has changed
}

// Add adds the value of a name for good.
func (v *Values) Add(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range of(name, value) {
		v.add(s)
	}
}

// Empty reports whether there are no values.
func (v *Values) Empty() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.known) == 0
}

// AddHeader adds the values of a header for good.
func (v *Values) AddHeader(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			v.Add(name, value)
		}
	}
}

// Sent adds the values of a header that has been sent once. The oldest of them
// are forgotten in time.
func (v *Values) Sent(header http.Header) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, values := range header {
		for _, value := range values {
			for _, s := range of(name, value) {
				if _, ok := v.known[s]; ok {
					continue
				}
				v.add(s)
				v.recent = append(v.recent, s)
			}
		}
	}
	for len(v.recent) > maxRecent {
		delete(v.known, v.recent[0])
		v.recent[0] = ""
		v.recent = v.recent[1:]
		v.replacer = nil
	}
}

func (v *Values) add(s string) {
	if v.known == nil {
		v.known = make(map[string]struct{})
	}
	if _, ok := v.known[s]; !ok {
		v.known[s] = struct{}{}
		v.replacer = nil
	}
}

// of returns what must not be shown of the value of a name.
func of(name, value string) []string {
	least := minOther
	if Name(name) {
		least = minSecret
	} else if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ".") {
		return nil // a path
	}
	all := []string{value}
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Proxy-Authorization":
		scheme, credentials, ok := strings.Cut(value, " ")
		if !ok {
			break
		}
		credentials = strings.TrimSpace(credentials)
		all = append(all, credentials)
		if strings.EqualFold(scheme, "Basic") {
			plain, err := base64.StdEncoding.DecodeString(credentials)
			_, password, ok := strings.Cut(string(plain), ":")
			if err == nil && ok {
				all = append(all, string(plain), password)
			}
		}
	case "Cookie":
		for pair := range strings.SplitSeq(value, ";") {
			_, value, _ := strings.Cut(pair, "=")
			all = append(all, strings.TrimSpace(value))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < least })
}

// spellings returns how a value may stand in a text: as it is, or escaped.
func spellings(value string) []string {
	quoted := strconv.Quote(value)
	all := []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value)}
	if raw, err := json.Marshal(value); err == nil {
		all = append(all, string(raw[1:len(raw)-1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Redact returns text without the values, and with each URL as [URL] shows it.
func (v *Values) Redact(text string) string {
	return Text(v.current().Replace(text))
}

// In reports whether text has one of the values.
func (v *Values) In(text string) bool { return v.current().Replace(text) != text }

func (v *Values) current() *strings.Replacer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.replacer == nil {
		var all []string
		for value := range v.known {
			all = append(all, spellings(value)...)
		}
		// Where one value begins with another, the longer one must be found.
		slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
		pairs := make([]string, 0, 2*len(all))
		for _, s := range all {
			pairs = append(pairs, s, Redacted)
		}
		v.replacer = strings.NewReplacer(pairs...)
	}
	return v.replacer
}
