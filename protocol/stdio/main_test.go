//go:build unix

package stdio_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(serverEnv); mode != "" {
		os.Exit(beServer(mode))
	}
	goleak.VerifyTestMain(m)
}
