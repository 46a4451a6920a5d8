// Package rounds tells an upstream when the rounds of a call (2026-07-28
// basic/patterns/mrtr) are over. Only a front that makes the rounds itself knows
// when that is.
package rounds

import "context"

type key struct{}

// With returns ctx with a promise: once ctx has ended, there are no further rounds
// of a call that is made in it.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, ctx)
}

// After calls f once there are certainly no further rounds of the call that ctx
// belongs to. Where stop returns true, f will not be called.
func After(ctx context.Context, f func()) (stop func() bool) {
	rounds, ok := ctx.Value(key{}).(context.Context)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(rounds, f)
}
