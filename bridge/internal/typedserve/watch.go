package typedserve

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// relistenDelay is how long a subscription that has ended waits before it is
// opened again.
const relistenDelay = 5 * time.Second

// listTimeout bounds the reading of the lists after a change.
const listTimeout = time.Minute

// watch keeps the service as the server is, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	changed := make(chan struct{}, 1)
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		s.listen(ctx, changed)
	}()
	defer func() { <-listening }()
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if err := s.refreshSoon(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "the typed service stays as it is: the server's lists cannot be read", "error", err)
		}
	}
}

func (s *Server) refreshSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return s.refresh(ctx)
}

// listen hears of changes, until ctx ends or the server says that it tells of
// none. Each subscription counts as a change, for there may have been some
// before it.
func (s *Server) listen(ctx context.Context, changed chan<- struct{}) {
	notify := protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		switch n.Method {
		case protocol.NotificationAcknowledged, protocol.NotificationToolsChanged,
			protocol.NotificationPromptsChanged, protocol.NotificationResourcesChanged:
			select {
			case changed <- struct{}{}:
			default: // the last change has not been looked at yet
			}
		}
		return nil
	})
	for {
		_, err := s.core.Contain(ctx, &protocol.Request{
			Method: protocol.MethodListen,
			Params: json.RawMessage(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`),
			Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
			Caller: protocol.InternalCaller(),
		}, notify)
		if _, down := errors.AsType[*protocol.UpstreamError](err); !down {
			if refused, ok := errors.AsType[*protocol.Error](err); ok && refused.Code == protocol.CodeMethodNotFound {
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.DebugContext(ctx, "the subscription to changes of the server has ended", "error", err)
		}
		wait := time.NewTimer(relistenDelay)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}
