package transcode

import (
	"errors"
	"strings"
)

// Add appends the violations of err, an [*ArgumentError] about the value at
// the path prefix, up to [MaxViolations] in all. It returns any other error.
func (e *ArgumentError) Add(prefix string, err error) error {
	other, ok := errors.AsType[*ArgumentError](err)
	if !ok {
		return err
	}
	e.Truncated = e.Truncated || other.Truncated
	for _, v := range other.Violations {
		if len(e.Violations) == MaxViolations {
			e.Truncated = true
			break
		}
		switch {
		case v.Path == "" || strings.HasPrefix(v.Path, "["):
			v.Path = prefix + v.Path
		case prefix != "":
			v.Path = prefix + "." + v.Path
		}
		e.Violations = append(e.Violations, v)
	}
	return nil
}
