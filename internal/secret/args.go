package secret

import "strings"

// Args returns a command line as it may be shown: with the values masked of
// flags and variables whose names say that they are secret, and with each URL as
// [URL] shows it.
func Args(args []string) string {
	shown := make([]string, len(args))
	next := false // whether the next argument is a secret value
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		isFlag := strings.HasPrefix(arg, "-")
		switch {
		case next && !isFlag:
			shown[i], next = mask, false
			continue
		case given && value != "" && !strings.Contains(name, "://") && Name(name):
			shown[i] = name + "=" + mask
		default:
			shown[i] = Text(arg)
		}
		next = isFlag && !given && Name(name)
	}
	return strings.Join(shown, " ")
}
