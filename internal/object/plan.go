package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Forced holds the settings of the user and of the lifecycle block that affect the planned action.
type Forced struct {
	Replace   bool       // -replace names the object
	Triggered bool       // replace_triggered_by requires a replacement
	Elsewhere bool       // the object must use another provider instance, which does not find the object and so cannot update it
	Rewrite   bool       // an update writes the write-only arguments, even if nothing else changes
	Ignore    []cty.Path // ignore_changes
	IgnoreAll bool       // ignore_changes = all
}

// ignored returns the paths in ignore_changes. If all attributes are ignored, it returns one empty path, which is a
// prefix of every path.
func (f Forced) ignored() []cty.Path {
	if f.IgnoreAll {
		return []cty.Path{nil}
	}
	return f.Ignore
}

// Current is the prior object of a plan: a refreshed entry of the state with its encoded value, or no object.
type Current struct {
	Entry *state.Entry // nil if no object exists
	Known
	// Private is the private data for the plan request if Entry is nil. In a replacement, the second plan request has
	// the private data that the first plan returned.
	Private []byte
	// Approved is the private data that the approved plan contains. It is set only if an apply plans the object again.
	Approved []byte
}

// Proposal is a provider's plan for one object, together with its inputs. Plan and apply both use it. A wire form is
// the MessagePack encoding of a value.
type Proposal struct {
	Asked    mark.Value // the configuration, with the prior values of ignored attributes
	Config   []byte     // wire form of Asked.Raw, for the plan request
	Written  []byte     // wire form of the configuration without ignore_changes, for the apply request
	Planned  []byte     // wire form of the planned object
	Prior    []byte     // wire form of the prior object; null for a new object
	Was      cty.Value  // the decoded value of Prior
	Value    cty.Value  // the decoded value of Planned
	Replace  []cty.Path // changed attributes that need a replacement
	Private  []byte     // the private data in the provider's plan
	Identity cty.Value  // planned identity; NilVal if the object has none
	Legacy   bool       // the provider uses the legacy type system
}

// Propose calls PlanResourceChange with the configuration config and the prior object cur, and checks the answer. The
// Proposal is nil unless the outcome is Known. The outcome is Deferred if the provider deferred its answer and may do
// so, and Failed after an error or if the walk (the plan or apply) was cancelled.
func (t *Tools) Propose(ctx context.Context, config mark.Value, cur Current, f Forced) (*Proposal, plan.Outcome) {
	prior := t.Type.Null()
	if cur.Wire != nil {
		var ok bool
		if prior, ok = decode(t, cur.Wire, "Invalid stored object"); !ok {
			return nil, plan.Outcome{}
		}
	}
	p := &Proposal{Prior: cur.Wire, Was: prior}
	if p.Prior == nil {
		p.Prior = guard.NullWire
	}
	if !ask(t, p, config, cur.Entry, f) {
		return nil, plan.Outcome{}
	}
	proposed := t.Type.Propose(prior, p.Asked.Raw)
	wantWire, ok := encode(t, proposed)
	if !ok {
		return nil, plan.Outcome{}
	}
	private := cur.Private
	var identity cty.Value
	if cur.Entry != nil {
		private, identity = cur.Entry.Private, t.Type.StoredIdentity(cur.Entry)
	}
	answer, ok := callPlan(ctx, t, provider.PlanRequest{
		Type: t.Type.Name, Prior: guard.Send(p.Prior), Proposed: guard.Send(wantWire), Config: guard.Send(p.Config),
		Private: private, Identity: t.Type.IdentityWire(identity), Meta: t.Type.Meta, Allow: t.Allow,
		Approved: cur.Approved,
	})
	if !ok {
		return nil, plan.Outcome{}
	}
	a, ok := t.admit(&answer, guard.Terms{Config: p.Asked, Was: cur.Entry, Prior: prior, Want: proposed, Sent: wantWire})
	if !ok {
		return nil, a.Outcome
	}
	p.Planned, p.Value, p.Private, p.Identity, p.Legacy = a.Wire, a.Value, a.Private, a.Identity, a.Legacy
	if p.Legacy && !keepIgnored(t, p, f) {
		return nil, plan.Outcome{}
	}
	if p.Identity == cty.NilVal {
		p.Identity = identity // the provider may plan another identity: some objects change their identity in an update
	}
	p.Replace = changedPaths(t, a.Replace, prior, p.Value)
	return p, a.Outcome
}

// ask sets Asked, Config and Written of the proposal p from config. In Asked, ignored attributes have their prior
// values. The argument was is the prior entry. ask reports an error and returns false if the configuration cannot be
// encoded.
func ask(t *Tools, p *Proposal, config mark.Value, was *state.Entry, f Forced) (ok bool) {
	p.Asked = ignore(t, config, p.Was, was, f)
	if p.Config, ok = encode(t, p.Asked.Raw); !ok {
		return false
	}
	p.Written = p.Config
	if !p.Was.IsNull() && len(f.ignored()) > 0 {
		p.Written, ok = encode(t, config.Raw)
	}
	return ok
}

// keepIgnored restores the prior values of ignored attributes in a planned object. Providers of the legacy type system
// may change such values anyway: for example, they replace a stored hash by the hash of the hash. keepIgnored returns
// false if the result cannot be encoded.
func keepIgnored(t *Tools, p *Proposal, f Forced) (ok bool) {
	v := p.Value
	for _, path := range f.ignored() {
		if !p.Was.IsNull() {
			v = overlay(v, p.Was, meant(v, path))
		}
	}
	if v.RawEquals(p.Value) {
		return true
	}
	p.Value = v
	p.Planned, ok = encode(t, v)
	return ok
}

// callPlan makes the call PlanResourceChange. It returns false if the walk is cancelled.
func callPlan(ctx context.Context, t *Tools, req provider.PlanRequest) (answer guard.Answer, ok bool) {
	return t.ask(ctx, event.CallPlan, func() guard.Answer { return t.Provider.Plan(ctx, req) })
}

// changedPaths returns the paths whose values differ between prior and planned. By the protocol, an attribute that does
// not change requires no replacement. The value of a write-only attribute is not visible, so its path always counts.
func changedPaths(t *Tools, paths []cty.Path, prior, planned cty.Value) []cty.Path {
	return slices.DeleteFunc(paths, func(p cty.Path) bool {
		if t.Type.IsWriteOnly(p) {
			return false
		}
		before, err1 := p.Apply(prior)
		after, err2 := p.Apply(planned)
		if err1 != nil || err2 != nil {
			return err1 != nil && err2 != nil // a path that exists in only one of the objects is a change
		}
		return before.RawEquals(after)
	})
}

// Plan plans a declared object and returns its change: the action with its reason, and the prior and the planned value.
// A change with the action NoOp has no values; its field Unchanged is true. A tainted object is planned like a new
// object, because a provider may refuse to change it in place. The change is nil unless the outcome is Known.
func (t *Tools) Plan(ctx context.Context, config mark.Value, cur Current, f Forced) (*plan.Change, plan.Outcome) {
	from := cur
	if cur.Entry != nil && cur.Entry.Tainted {
		from = Current{}
	}
	p, out := t.Propose(ctx, config, from, f)
	if out.Kind != plan.Known {
		return nil, out
	}
	c := &plan.Change{Object: t.Object, Was: t.Object, Entry: cur.Entry, Settled: t.Settled(config)}
	if cur.Entry == nil {
		c.Action = plan.Create
		completeChange(t, c, p, config)
		return c, out
	}
	c.Action, c.Why, c.Replace = decide(t, cur, p, f)
	if c.Action == plan.NoOp && remarked(t, cur.Entry, p) {
		c.Action = plan.Update
	}
	switch {
	case c.Action == plan.NoOp:
		c.Unchanged = true
		c.Private, c.Identity = p.Private, p.Identity
		return c, out
	case c.Action.Replaces() && from.Entry != nil:
		if len(p.Private) > 0 {
			c.Settled = false // apply must plan the new object again, because a new object does not inherit the private data of the old object
		}
		if p, out = t.Propose(ctx, config, Current{Private: p.Private}, Forced{}); out.Kind != plan.Known {
			return nil, out
		}
	}
	completeChange(t, c, p, config)
	if before, ok := t.Value(cur.Entry, cur.Known); ok {
		c.Before = before
	}
	c.BeforeIdentity = t.Type.StoredIdentity(cur.Entry)
	return c, out
}

// remarked reports whether the sensitive paths that the proposal p gives to the object differ from the paths in its
// entry e. If they differ, the state must store the new paths, even if the object is unchanged.
func remarked(t *Tools, e *state.Entry, p *Proposal) bool {
	if !p.Asked.Has(mark.Sensitive) && len(e.Sensitive) == 0 {
		return false
	}
	was, is := t.Type.Sensitive(p.Value, e.Sensitive), t.Type.Marked(p.Value, p.Asked).PathsOf(mark.Sensitive)
	return !mark.SamePaths(was, is)
}

// Nothing reports whether the proposal p leaves the object unchanged. It compares values if the wire forms differ,
// because equal sets may have different wire forms.
func (t *Tools) Nothing(p *Proposal) bool {
	return t.Walk.Guard.SameWire(p.Planned, p.Prior) || p.Was.RawEquals(p.Value)
}

// decide chooses the action for an object that exists and is declared. It returns the action, its reason, and the
// attributes that need a replacement.
func decide(t *Tools, cur Current, p *Proposal, f Forced) (plan.Action, plan.Reason, []cty.Path) {
	const replace = plan.DeleteCreate // planning changes DeleteCreate to CreateDelete later if create_before_destroy applies
	switch {
	case f.Triggered:
		return replace, plan.ReplaceByTriggers, p.Replace
	case cur.Entry.Tainted:
		return replace, plan.ReplaceTainted, nil
	case f.Replace:
		return replace, plan.ReplaceByRequest, p.Replace
	case len(p.Replace) > 0 || f.Elsewhere:
		return replace, plan.ReplaceCannotUpdate, p.Replace
	case f.Rewrite:
		return plan.Update, plan.UpdateEarlierValue, nil
	case t.Nothing(p):
		return plan.NoOp, plan.NoReason, nil
	}
	return plan.Update, plan.NoReason, nil
}

// completeChange copies the values of the proposal p to the change c, and sets the prior value of c to null. Callers
// with a prior object then set c.Before.
func completeChange(t *Tools, c *plan.Change, p *Proposal, config mark.Value) {
	c.Before = mark.Plain(t.Type.Null())
	c.After = t.Type.Marked(p.Value, p.Asked)
	if t.Type.HasWriteOnly() {
		c.Sent = t.Type.WriteOnly(config.Raw)
	}
	c.Private, c.Identity, c.Legacy = p.Private, p.Identity, p.Legacy
	if c.Settled {
		c.Asked = p.digest()
	}
}

// digest returns a digest of Config, with which apply recognizes an unchanged configuration.
func (p *Proposal) digest() []byte {
	sum := sha256.Sum256(p.Config)
	return sum[:16]
}

// PlanDown plans the destruction of an object. It calls the provider only if capable is true, which means that the
// provider can plan destructions. It returns nil and false after an error, and if the walk is cancelled.
func (t *Tools) PlanDown(ctx context.Context, cur Current, capable bool) (*plan.Change, bool) {
	c := &plan.Change{Object: t.Object, Was: t.Object, Entry: cur.Entry, Action: plan.Delete, ProviderData: plan.ProviderData{Private: cur.Entry.Private}}
	before, ok := t.Value(cur.Entry, cur.Known)
	if !ok {
		return nil, false
	}
	c.Before, c.After = before, mark.Plain(t.Type.Null())
	c.BeforeIdentity = t.Type.StoredIdentity(cur.Entry)
	if !capable {
		return c, true
	}
	answer, ok := callPlan(ctx, t, provider.PlanRequest{
		Type: t.Type.Name, Prior: guard.Send(cur.Wire), Proposed: guard.Send(guard.NullWire), Config: guard.Send(guard.NullWire),
		Private: cur.Entry.Private, Identity: storedIdentity(t, cur.Entry), Meta: t.Type.Meta,
	})
	if !ok {
		return nil, false
	}
	a, ok := t.admit(&answer, guard.Terms{Was: cur.Entry})
	if !ok {
		return nil, false
	}
	c.Private = a.Private
	return c, true
}

// Within reports whether the proposal p, which apply made by planning again, agrees with the approved change: p needs
// no replacement that was not approved, and each value that was known in the plan is the same. Otherwise Within reports
// errors and returns false. The rule also holds for providers of the legacy type system, because users approve the
// plan.
func (t *Tools) Within(approved *plan.Change, p *Proposal) bool {
	const title = "Provider produced inconsistent final plan"
	why := "This is a bug in the provider. Report it to its developers."
	breaches := t.Type.ApplyBreaches(approved.After.Raw, p.Value)
	if approved.Settled && !bytes.Equal(approved.Asked, p.digest()) {
		if t.Walk.Reread && (len(breaches) > 0 || approved.Action == plan.Update && len(p.Replace) > 0) {
			t.breach("Saved plan is stale", "The configuration of %s has another value than in the plan. It refers to a data source that was read again, because the plan file does not contain its result (forget_data), and the result has changed.\n\n%s was not changed. Make a new plan for the remaining changes.", t.Object, t.Object)
			return false
		}
		why = "The configuration of " + t.Object.String() + " was known in the plan, and has another value now. If it depends on the working directory or the home directory (path.cwd, abspath, pathexpand), apply the plan in the directory of the plan. Otherwise another provider planned a value and then changed it. This is a bug in that provider. Report it to its developers."
	}
	why += "\n\n" + t.Object.String() + " was not changed. Make a new plan for the remaining changes."
	if approved.Action == plan.Update && len(p.Replace) > 0 {
		replace := "DeleteThenCreate"
		if approved.CreateFirst {
			replace = "CreateThenDelete"
		}
		t.breach(title, "When applying %s, %s changed the planned action from Update to %s: %s cannot be changed in place.\n\n%s",
			t.Object, t.who(), replace, t.subject().AttributeText(p.Replace[0], approved.After.Marks), why)
		return false
	}
	for _, b := range breaches {
		t.breach(title, "When applying %s, %s planned an invalid new value for %s: %s.\n\n%s",
			t.Object, t.who(), t.subject().AttributeText(b.Path, approved.After.Marks), guard.BreachText(b, approved.After.Marks), why)
	}
	return len(breaches) == 0
}

// Settled reports whether apply may use the plan of the object without planning it again: the configuration is wholly
// known, and has no ephemeral values and no write-only arguments.
func (t *Tools) Settled(config mark.Value) bool {
	return ctyvalue.WhollyKnown(config.Raw) && !config.Has(mark.Ephemeral) && len(t.Type.WriteOnly(config.Raw)) == 0
}

// ignore returns the configuration in which ignored attributes have their prior values and their prior sensitive marks.
// If all attributes are ignored, attributes that only the provider can set stay null, because a configuration cannot
// set them.
func ignore(t *Tools, config mark.Value, prior cty.Value, was *state.Entry, f Forced) mark.Value {
	paths := slices.Clone(f.ignored())
	if prior.IsNull() || len(paths) == 0 {
		return config
	}
	sensitive := t.Type.Configured(was.Sensitive, prior) // without the sensitive paths of the schema: the attributes at these paths are null in a configuration, so their marks would move to a value around the attribute
	if f.IgnoreAll {
		prior = t.Type.NullComputed(prior)
	}
	for i, path := range paths {
		paths[i] = meant(config.Raw, path)
	}
	ignored := func(at cty.Path) bool { return slices.ContainsFunc(paths, at.HasPrefix) }
	out := mark.Value{Raw: config.Raw, Marks: slices.DeleteFunc(slices.Clone(config.Marks), func(m mark.At) bool {
		return m.Tag == mark.Sensitive && ignored(m.Path)
	})}
	for _, p := range paths {
		out.Raw = overlay(out.Raw, prior, p)
	}
	var stored []mark.At
	for _, m := range mark.SensitiveAt(sensitive) {
		if ignored(m.Path) {
			stored = append(stored, m)
			continue
		}
		for _, p := range paths { // an ignored part of a sensitive prior value is sensitive
			if p.HasPrefix(m.Path) && !marked(out, p) {
				stored = append(stored, mark.At{Path: p, Tag: mark.Sensitive})
			}
		}
	}
	out.Marks = mark.Union(out.Marks, stored)
	return out
}

// marked reports whether the value at a path is, or is inside, a sensitive value.
func marked(v mark.Value, path cty.Path) bool {
	return slices.ContainsFunc(v.Marks, func(m mark.At) bool { return m.Tag == mark.Sensitive && path.HasPrefix(m.Path) })
}

// meant returns the path to which a path in ignore_changes applies. If the path has a string key of a value that is not
// a map, such as an object in a dynamic attribute, this is the path of the whole value, as in Terraform.
func meant(config cty.Value, path cty.Path) cty.Path {
	for i, step := range path {
		if index, ok := step.(cty.IndexStep); ok && index.Key.Type() == cty.String {
			if of, err := path[:i].Apply(config); err == nil && !of.Type().IsMapType() {
				return path[:i]
			}
		}
	}
	return path
}

// overlay returns config with the value of prior at path. If the path has a map key that only one of the two values
// has, overlay adds or removes the key. If the path does not exist, overlay returns config.
func overlay(config, prior cty.Value, path cty.Path) cty.Value {
	if len(path) == 0 {
		return prior
	}
	ty := config.Type()
	index, indexed := path[0].(cty.IndexStep)
	keyed := indexed && index.Key.Type() == cty.String
	if ty.IsMapType() && config.IsNull() && keyed && hasKey(prior, index.Key) {
		config = cty.MapValEmpty(ty.ElementType())
	}
	switch {
	case config.IsNull() || !config.IsKnown():
	case keyed && ty.IsMapType():
		return overlayKey(config, prior, index.Key, path[1:])
	case prior.IsNull():
	case ty.IsObjectType():
		if step, ok := path[0].(cty.GetAttrStep); ok {
			return overlayAttr(config, prior, step.Name, path[1:])
		}
	case (ty.IsListType() || ty.IsTupleType()) && indexed && index.Key.Type() == cty.Number:
		return overlayIndex(config, prior, index.Key, path[1:])
	}
	return config
}

func overlayAttr(config, prior cty.Value, name string, rest cty.Path) cty.Value {
	if !config.Type().HasAttribute(name) || !prior.Type().IsObjectType() || !prior.Type().HasAttribute(name) {
		return config
	}
	attrs := config.AsValueMap()
	attrs[name] = overlay(attrs[name], prior.GetAttr(name), rest)
	return cty.ObjectVal(attrs)
}

// hasKey reports whether a map has a key. v may also be an object that represents a map.
func hasKey(v, key cty.Value) bool {
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	if v.Type().IsObjectType() {
		return v.Type().HasAttribute(key.AsString())
	}
	return v.Type().IsMapType() && v.HasIndex(key).True()
}

func overlayKey(config, prior cty.Value, key cty.Value, rest cty.Path) cty.Value {
	of, k := config.Type().ElementType(), key.AsString()
	elems := config.AsValueMap()
	if elems == nil {
		elems = map[string]cty.Value{}
	}
	if prior.Type().IsObjectType() {
		if m, ok := fit(prior, cty.Map(of)); ok {
			prior = m
		}
	}
	was, fits := cty.NilVal, true
	if prior.IsNull() || prior.Type().IsMapType() && prior.HasIndex(key).False() {
		fits = len(rest) == 0
	} else if !prior.Type().IsMapType() || elems[k] == cty.NilVal && len(rest) > 0 {
		return config
	} else {
		was, fits = fit(overlay(elems[k], prior.Index(key), rest), of)
	}
	if !fits {
		return config
	}
	if elems[k] = was; was == cty.NilVal {
		delete(elems, k)
	}
	if len(elems) == 0 {
		return cty.MapValEmpty(of)
	}
	return cty.MapVal(elems)
}

func overlayIndex(config, prior cty.Value, key cty.Value, rest cty.Path) cty.Value {
	i, _ := key.AsBigFloat().Int64()
	if ty := prior.Type(); !ty.IsListType() && !ty.IsTupleType() || config.HasIndex(key).False() || prior.HasIndex(key).False() {
		return config
	}
	elems := config.AsValueSlice()
	was := overlay(elems[i], prior.Index(key), rest)
	if config.Type().IsTupleType() {
		elems[i] = was
		return cty.TupleVal(elems)
	}
	if v, ok := fit(was, config.Type().ElementType()); ok {
		elems[i] = v
	}
	return cty.ListVal(elems)
}

// fit converts a prior value to the element type ty of a collection. If the type of the attribute is dynamic, the prior
// value may have another type. fit returns false if the conversion fails.
func fit(v cty.Value, ty cty.Type) (cty.Value, bool) {
	v, err := convert.Convert(v, ty)
	return v, err == nil
}

// Forget returns the change that removes the object o from the state without destroying it. The parameter before is the
// prior value, and null is the null value of the type.
func Forget(o addr.Object, cur Current, before mark.Value, null cty.Value) *plan.Change {
	return &plan.Change{Object: o, Was: o, Entry: cur.Entry, Action: plan.Forget, Before: before, After: mark.Plain(null)}
}
