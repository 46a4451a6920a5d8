package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// typedAuto is the value of --typed for a service without files.
const typedAuto = "auto"

// addTyped adds --typed.
func (h *httpFlags) addTyped(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.typed, "typed", "", "serve the tools as a typed service too: `how` is the directory of an export, or auto for one without files")
}

// openTyped adds the typed service to a site, if there is to be one.
func (h *httpFlags) openTyped(ctx context.Context, s *site, maxMessage int) error {
	if h.typed == "" {
		return nil
	}
	cfg := bridge.TypedConfig{Handler: &s.calls, Logger: s.log, MaxMessageBytes: maxMessage}
	if h.typed != typedAuto {
		cfg.Dir = h.typed
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if s.typed, err = bridge.NewTypedService(ctx, cfg); err != nil {
		return failf("--typed=%s: %w", h.typed, err)
	}
	return nil
}

// typedName is the full name of the typed service, or "".
func (s *site) typedName() string {
	if s.typed == nil {
		return ""
	}
	return s.typed.Name()
}
