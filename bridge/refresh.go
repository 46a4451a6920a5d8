package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

// refreshTimeout bounds one re-reading of all descriptors.
const refreshTimeout = 30 * time.Second

// Refresh reads the descriptors of all upstreams again. Where they have
// changed, the new tools are served from then on, clients that asked are told,
// and Refresh returns true. Where one cannot be read, nothing changes.
func (b *Bridge) Refresh(ctx context.Context) (changed bool, err error) {
	b.reload.Lock()
	defer b.reload.Unlock()
	sets := make([]*descriptor.Set, len(b.upstreams))
	var errs []error
	for i, u := range b.upstreams {
		set, err := u.Descriptors.Load(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sets[i] = set
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	old := b.catalog.Load()
	if old != nil && old.sameAs(sets) {
		return false, nil
	}
	next, err := newCatalog(b.cfg, b.upstreams, sets, old)
	if err != nil {
		return false, fmt.Errorf("bridge: %w", err)
	}
	b.catalog.Store(next)
	if old == nil || old.version == next.version {
		return false, nil
	}
	b.cfg.log.InfoContext(ctx, "the tools have changed", "tools", len(next.tools))
	b.changes.Send()
	return true, nil
}

// keepFresh re-reads the descriptors at the refresh interval, and when a
// backend has answered UNIMPLEMENTED.
func (b *Bridge) keepFresh() {
	var tick <-chan time.Time
	if b.cfg.refresh > 0 {
		ticker := time.NewTicker(b.cfg.refresh)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-tick:
		case <-b.stale:
		case <-b.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(b.ctx, refreshTimeout)
		if _, err := b.Refresh(ctx); err != nil && b.ctx.Err() == nil {
			b.cfg.log.WarnContext(ctx, "the descriptors could not be read again; the tools stay as they are", "error", err)
		}
		cancel()
	}
}

// markStale asks for the descriptors to be read again soon.
func (b *Bridge) markStale() {
	select {
	case b.stale <- struct{}{}:
	default: // asked for already
	}
}
