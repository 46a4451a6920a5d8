package config_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

func same(t *testing.T, got, want *configv1.Config) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
