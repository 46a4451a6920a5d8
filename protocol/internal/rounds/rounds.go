// Package rounds tells an upstream when the rounds of a call (2026-07-28
// basic/patterns/mrtr) are over. A front that makes the rounds itself knows; of
// other callers nobody does.
package rounds

import "context"

type key struct{}

// With returns ctx with the promise that whoever makes a call in it makes no
// further round of it once ctx has ended.
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
