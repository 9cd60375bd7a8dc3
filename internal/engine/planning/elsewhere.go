package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/object"
)

// elsewhere reports whether only another instance of the provider block finds the object of an instance. This happens if
// the provider key of the resource has changed, for example to another region. The refresh has read the object through
// the stored instance, which also destroys it. elsewhere reads the object through the new instance, if the two have
// different settings. ok is false if that fails.
func (x *instance) elsewhere(ctx context.Context, t *object.Tools, u declared.Use, cur object.Current) (is, ok bool) {
	if cur.Entry == nil || !x.p.req.Refresh || !u.Declared || cur.Entry.Provider.Key == u.Instance.Key || !declared.Fits(x.run.Program, x.run.Receivers.Steady, x.d, cur.Entry.Provider) {
		return false, true
	}
	was := declared.UseOf(x.run.Program, x.d, cur.Entry.Provider.Key)
	before, known := x.run.Sessions.Settle(ctx, x.run.Bag, was, frame.After)
	after, settled := x.run.Sessions.Settle(ctx, x.run.Bag, u, frame.After)
	if !known || !settled || before.Unknown || after.Unknown || before.Same(after) {
		return false, known && settled
	}
	found, _, ok := t.Read(ctx, cur.Entry, cur.Known)
	return found == nil, ok
}
