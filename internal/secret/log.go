package secret

import (
	"context"
	"fmt"
	"log/slog"
)

// Logger returns a logger that writes what l does, redacted.
func (v *Values) Logger(l *slog.Logger) *slog.Logger {
	return slog.New(&handler{next: l.Handler(), values: v})
}

// handler redacts records.
type handler struct {
	next   slog.Handler
	values *Values
}

var _ slog.Handler = (*handler)(nil)

// Enabled reports whether the next handler takes records of a level.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes a record on, redacted.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.values.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.redact(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

// WithAttrs returns a handler for records with attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	redacted := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		redacted[i] = h.redact(a)
	}
	return &handler{next: h.next.WithAttrs(redacted), values: h.values}
}

// WithGroup returns a handler for records in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), values: h.values}
}

func (h *handler) redact(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		value = slog.StringValue(h.values.Redact(value.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(value.Group()))
		for i, inner := range value.Group() {
			group[i] = h.redact(inner)
		}
		value = slog.GroupValue(group...)
	case slog.KindAny:
		text := fmt.Sprint(value.Any())
		if redacted := h.values.Redact(text); redacted != text {
			value = slog.StringValue(redacted)
		}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindUint64, slog.KindTime, slog.KindLogValuer:
	}
	return slog.Attr{Key: a.Key, Value: value}
}
