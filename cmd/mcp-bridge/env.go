package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// variableName matches the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment reads the --env flags: what the command of an MCP server gets
// beside what every program needs, as NAME=VALUE. Errors do not show values, for
// they may be secret.
func (f *upstreamFlags) environment() ([]string, error) {
	var env []string
	var problems []error
	for i, s := range f.env {
		name, value, given := strings.Cut(s, "=")
		switch {
		case !variableName.MatchString(name):
			problems = append(problems, fmt.Errorf("--env number %d is neither NAME nor NAME=VALUE", i+1))
			continue
		case given && strings.ContainsRune(value, 0):
			problems = append(problems, fmt.Errorf("--env %s: the value has a zero byte", name))
			continue
		case !given:
			var ok bool
			if value, ok = os.LookupEnv(name); !ok {
				problems = append(problems, fmt.Errorf("--env %s: the environment has no such variable", name))
				continue
			}
		}
		env = append(env, name+"="+value)
	}
	return env, errors.Join(problems...)
}

// checkCommand reports --env flags that there is no command for.
func (f *upstreamFlags) checkCommand(all []*target) error {
	if len(f.env) > 0 && !slices.ContainsFunc(all, func(t *target) bool { return t.kind == kindCommand }) {
		return usagef("--env is for the command of an MCP server, which is missing: it stands behind --")
	}
	if _, err := f.environment(); err != nil {
		return usagef("%w", err)
	}
	return nil
}
