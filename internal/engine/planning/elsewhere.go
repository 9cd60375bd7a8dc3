package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
)

// elsewhere reports whether the provider instance u, which the resource selects now, does not find the stored object.
// This happens if the key of the provider instance has changed, for example to another region. The refresh has read the
// object through the stored provider instance, which also destroys it. If the two provider instances have different
// settings, elsewhere reads the object through u, even with -refresh=false: otherwise the state would name a provider
// instance that does not find the object. If the settings of u are unknown, a later round (a further plan and apply)
// decides, or, if the command has no rounds, elsewhere reports an error. The result is valid only if the outcome is
// Known.
func (x *instance) elsewhere(ctx context.Context, t *object.Tools, u declared.Use, cur object.Current, forced object.Forced) (bool, plan.Outcome) {
	if cur.Entry == nil || !u.Declared {
		return false, plan.Done(true)
	}
	was, ok := x.run.StoredUse(ctx, x.inst, cur.Entry.Provider)
	if !ok || was.Instance == u.Instance {
		return false, plan.Done(ok && (x.p.req.Refresh || x.stays(ctx, t, u, cur)))
	}
	before, known := x.run.Sessions.Settle(ctx, x.run.Bag, was, frame.After)
	after, settled := x.run.Sessions.Settle(ctx, x.run.Bag, u, frame.After)
	switch {
	case !known || !settled:
		return false, plan.Outcome{}
	case forced.Replace || forced.Triggered || cur.Entry.Tainted:
		return false, plan.Done(true) // the plan replaces the object in any case
	case after.Unknown:
		return false, x.unsettled(u, was)
	case !before.Unknown && before.Same(after):
		return false, plan.Done(true)
	case x.p.state.missed(x.inst.Current(), u.Instance):
		return true, plan.Done(true)
	}
	found, _, ok := t.Read(ctx, cur.Entry, cur.Known)
	return found == nil, plan.Done(ok)
}

// stays reports whether an object that was not refreshed still belongs to its resource. If the resource has another
// provider block now, which does not find the object, and the former block cannot be asked, stays reports an error and
// returns false.
func (x *instance) stays(ctx context.Context, t *object.Tools, u declared.Use, cur object.Current) bool {
	if !x.run.Unaskable(x.d, cur.Entry.Provider) || x.run.Sessions.Unknown(u) {
		return true
	}
	found, _, ok := t.Read(ctx, cur.Entry, cur.Known)
	if ok && found == nil {
		x.run.Lost(x.d, x.inst, cur.Entry.Provider)
	}
	return found != nil && ok
}

// unsettled leaves the decision about an instance to a later round, because the settings of its new provider instance u
// are unknown. It then returns the outcome Deferred. If the command has no rounds, unsettled reports an error and
// returns Failed.
func (x *instance) unsettled(u, was declared.Use) plan.Outcome {
	title := "Invalid provider instance key"
	if u.Instance.ProviderConfig != was.Instance.ProviderConfig {
		title = "Invalid provider configuration"
	}
	d := diag.Errorf(title, "The object of %s was created through %s, and its resource now selects %s. The settings of this instance depend on values that are known only after apply, so Lethe cannot ask it for the object. First apply the changes of these values, for example with -exclude=%[1]s. To replace the object, use -replace=%[1]s.",
		x.inst, was.Instance, u.Instance).At(x.d.Range).About(x.inst)
	if x.p.req.Options.Defers {
		x.p.deferred.blame(d)
		return plan.Defer(plan.ProviderConfigUnknown)
	}
	x.run.Bag.Add(d)
	return plan.Outcome{}
}
