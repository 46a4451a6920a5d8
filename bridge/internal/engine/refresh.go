package engine

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
func (e *Engine) Refresh(ctx context.Context) (changed bool, err error) {
	e.reload.Lock()
	defer e.reload.Unlock()
	sets := make([]*descriptor.Set, len(e.upstreams))
	var errs []error
	for i, u := range e.upstreams {
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
	old := e.catalog.Load()
	if old != nil && old.sameAs(sets) {
		return false, nil
	}
	next, err := newCatalog(e.cfg, e.upstreams, sets, old)
	if err != nil {
		return false, fmt.Errorf("bridge: %w", err)
	}
	e.catalog.Store(next)
	e.refreshes.Send()
	if old == nil || old.version == next.version {
		return false, nil
	}
	e.cfg.Log.InfoContext(ctx, "the tools have changed", "tools", len(next.tools))
	e.changes.Send()
	return true, nil
}

// keepFresh re-reads the descriptors at the refresh interval, and when a
// backend has answered UNIMPLEMENTED.
func (e *Engine) keepFresh() {
	var tick <-chan time.Time
	if e.cfg.Refresh > 0 {
		ticker := time.NewTicker(e.cfg.Refresh)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-tick:
		case <-e.stale:
		case <-e.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(e.ctx, refreshTimeout)
		err := caught(func() error {
			_, err := e.Refresh(ctx)
			return err
		})
		if err != nil && e.ctx.Err() == nil {
			e.cfg.Log.WarnContext(ctx, "the descriptors could not be read again; the tools stay as they are", "error", err)
		}
		cancel()
	}
}

// markStale asks for the descriptors to be read again soon.
func (e *Engine) markStale() {
	select {
	case e.stale <- struct{}{}:
	default: // asked for already
	}
}
