package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// variableName matches the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment reads the --env flags: what the command of an MCP server gets
// beside what every program needs. Errors do not show values, for they may be
// secret.
func (f *upstreamFlags) environment() (map[string]string, error) {
	env := make(map[string]string)
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
		env[name] = value
	}
	return env, errors.Join(problems...)
}
