package stdio_test

import (
	"context"
	"io"
	"strconv"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	prototest.Stdio(t, "testdata", func(ctx context.Context, in io.Reader, out io.Writer, h *prototest.Handler, s prototest.Settings) error {
		limit, _ := strconv.Atoi(s["max-bytes"]) // 0 means the default
		return stdio.Serve(ctx, in, out, stdio.Config{Handler: h, MaxMessageBytes: limit})
	})
}
