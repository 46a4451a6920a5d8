package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// header reads the --header flags for the upstream of a name: those that are for
// all, and those for it. Errors do not show what was given, for it may be
// secret.
func (f *upstreamFlags) header(upstream string) (http.Header, error) {
	h := http.Header{}
	var problems []error
	for i, s := range f.headers {
		name, value, ok := strings.Cut(s, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		only, rest, scoped := strings.Cut(name, "=")
		if scoped {
			name = rest
		}
		if !ok || name == "" || strings.ContainsAny(name, " \t=") {
			problems = append(problems, fmt.Errorf("--header number %d is not of the form 'name: value'", i+1))
			continue
		}
		value, err := expand(value)
		if err != nil {
			problems = append(problems, fmt.Errorf("--header %s: %w", name, err))
			continue
		}
		if strings.HasSuffix(strings.ToLower(name), "-bin") {
			raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				problems = append(problems, fmt.Errorf("--header %s: the value is not base64, as names that end in -bin need it", name))
				continue
			}
			value = string(raw)
		}
		if !scoped || only == upstream {
			h.Add(name, value)
		}
	}
	return h, errors.Join(problems...)
}

// forwarded returns the names of headers that --forward-header gives to the
// upstream of a name: those that are for all, and those for it.
func (f *upstreamFlags) forwarded(upstream string) []string {
	var names []string
	for _, s := range f.forward {
		only, name, scoped := strings.Cut(s, "=")
		switch {
		case !scoped:
			names = append(names, s)
		case strings.TrimSpace(only) == upstream:
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// checkScopes reports --header and --forward-header flags for upstreams that do
// not exist, or take none.
func (f *upstreamFlags) checkScopes(all []*target) error {
	var problems []error
	check := func(flag string, i int, s string) {
		only, _, scoped := strings.Cut(s, "=")
		only = strings.TrimSpace(only)
		at := slices.IndexFunc(all, func(t *target) bool { return t.name == only })
		switch {
		case !scoped:
		case at >= 0 && !slices.Contains(all[at].flags(), strings.TrimPrefix(flag, "--")):
			problems = append(problems, usagef("%s number %d is for the upstream %q, which takes none: %s", flag, i+1, only, all[at].text))
		case at < 0:
			var names []string
			for _, t := range all {
				if t.name != "" {
					names = append(names, t.name)
				}
			}
			problem := usagef("%s number %d is for the upstream %q, which does not exist", flag, i+1, only)
			if len(names) > 0 {
				problem = problem.hint("there are: %s", strings.Join(names, ", "))
			} else {
				problem = problem.hint("give the upstream that name: %s=URL", only)
			}
			problems = append(problems, problem)
		}
	}
	for i, s := range f.headers {
		name, _, _ := strings.Cut(s, ":")
		check("--header", i, name)
	}
	for i, s := range f.forward {
		check("--forward-header", i, s)
	}
	return errors.Join(problems...)
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
