package front_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	a, b := front.NewID(), front.NewID()
	if string(a) == string(b) || jsontok.KindOf(a) != jsontok.KindString || jsontok.Valid(a, jsontok.Limits{}) != nil {
		t.Errorf("ids %s and %s", a, b)
	}
}
