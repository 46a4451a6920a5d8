package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// header reads the --header flags for an upstream: those that are for all, and
// those for it. Errors do not show what was given, for it may be secret.
func (f *upstreamFlags) header(t *target) (map[string]*configv1.HeaderValues, error) {
	all := make(map[string]*configv1.HeaderValues)
	var problems []error
	for i, g := range f.headers.given {
		name, value, _ := strings.Cut(g.value, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !isHeader(g.value) {
			problems = append(problems, fmt.Errorf("--header number %d is not of the form 'name: value'", i+1))
			continue
		}
		value, err := expand(value)
		if err != nil {
			problems = append(problems, fmt.Errorf("--header %s: %w", name, err))
			continue
		}
		if strings.HasSuffix(name, "-bin") {
			if _, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "=")); err != nil {
				problems = append(problems, fmt.Errorf("--header %s: the value is not base64, as names that end in -bin need it", name))
				continue
			}
		}
		if g.upstream != "" && g.upstream != t.name {
			continue
		}
		if all[name] == nil {
			all[name] = &configv1.HeaderValues{}
		}
		all[name].Values = append(all[name].Values, value)
	}
	return all, errors.Join(problems...)
}

// isHeader reports whether text is of the form "name: value".
func isHeader(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	return ok && name != "" && !strings.ContainsAny(name, " \t=")
}

// variable matches a variable of the environment in a value.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts the environment's values in the place of ${VAR}, so that secrets
// need not be on the command line, where every process can read them.
func expand(value string) (string, error) {
	var problems []error
	out := variable.ReplaceAllStringFunc(value, func(match string) string {
		name := match[2 : len(match)-1]
		v, ok := os.LookupEnv(name)
		if !ok {
			problems = append(problems, fmt.Errorf("the environment has no variable %s", name))
		}
		return v
	})
	return out, errors.Join(problems...)
}
