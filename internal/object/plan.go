package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Forced is what a user or the lifecycle block demands of a decision, beside configuration and provider.
type Forced struct {
	Replace   bool       // -replace names the object
	Triggered bool       // replace_triggered_by
	Ignore    []cty.Path // ignore_changes
	IgnoreAll bool
}

// ignored returns the paths that ignore_changes names. An empty path stands for the whole object.
func (f Forced) ignored() []cty.Path {
	if f.IgnoreAll {
		return []cty.Path{nil}
	}
	return f.Ignore
}

// Current is the object that a plan starts from: nothing, or a refreshed entry.
type Current struct {
	Entry *state.Entry // nil: there is none
	Known
	// Private is the private data to plan with if Entry is nil: the second plan of a replacement gets the private data that
	// the first one planned.
	Private []byte
}

// Proposal is what a provider plans to make of a configuration: the part that planning and
// applying have in common.
type Proposal struct {
	Asked    mark.Value // the configuration, what is to be ignored as it was
	Config   []byte     // wire form of Asked; the plan request has it
	Written  []byte     // wire form of the configuration as written; the apply request has it
	Planned  []byte
	Prior    []byte
	Was      cty.Value // of Prior
	Value    cty.Value // of Planned
	Replace  []cty.Path
	Private  []byte
	Identity cty.Value
	Legacy   bool
}

// Propose asks the provider what it would make of the configuration, starting from prior (a null
// wire form to create), and holds the answer against the contract.
func (t *Tools) Propose(ctx context.Context, config mark.Value, cur Current, f Forced) (*Proposal, bool) {
	prior := t.Type.Null()
	if cur.Wire != nil {
		var ok bool
		if prior, ok = decode(t, cur.Wire, "Invalid stored object"); !ok {
			return nil, false
		}
	}
	p := &Proposal{Prior: cur.Wire, Was: prior}
	if p.Prior == nil {
		p.Prior = nullWire
	}
	if !ask(t, p, config, cur.Entry, f) {
		return nil, false
	}
	raw := p.Asked.Raw
	proposed := t.Type.Propose(prior, raw)
	wantWire, ok := encode(t, proposed)
	if !ok {
		return nil, false
	}
	private := cur.Private
	var identity cty.Value
	if cur.Entry != nil {
		private, identity = cur.Entry.Private, identityOf(t, cur.Entry)
	}
	r := &rights{config: raw, was: cur.Entry}
	resp, ok := callPlan(ctx, t, r, provider.PlanRequest{
		Type: t.Type.Name, Prior: send(p.Prior), Proposed: send(wantWire), Config: send(p.Config),
		Private: private, Identity: identityWire(t, identity), Meta: t.Type.Meta, Allow: t.allow(),
	})
	if !ok {
		return nil, false
	}
	if p.Planned, ok = msgpackOf(t, resp.Planned, "Provider produced invalid plan"); !ok {
		return nil, false
	}
	p.Private, p.Legacy = resp.Private, resp.LegacyTypes
	if !checkPlanned(t, p, prior, r, proposed, wantWire) || p.Legacy && !keepIgnored(t, p, f) {
		return nil, false
	}
	if p.Identity, ok = decodeIdentity(t, resp.Identity); !ok {
		return nil, false
	}
	if p.Identity, ok = keepableIdentity(t, p.Identity, r, "Provider produced invalid plan"); !ok {
		return nil, false
	}
	if p.Identity == cty.NilVal {
		p.Identity = identity // another one is allowed: some objects change theirs when they change
	}
	p.Replace, ok = replacePaths(t, resp.Replace, prior, p.Value)
	return p, ok
}

// ask writes the configuration into a proposal, with the prior object's values where ignore_changes says so.
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

// keepIgnored puts the prior object's values into a planned object where ignore_changes says so. Providers of the legacy
// type system change values that are not in the configuration, or that are there as they are stored: the hash of a hash is
// another hash.
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

func callPlan(ctx context.Context, t *Tools, r *rights, req provider.PlanRequest) (provider.PlanResponse, bool) {
	var resp provider.PlanResponse
	var ds provider.Diags
	if !t.token(ctx, func() { resp, ds = t.Provider.Plan(ctx, req) }) {
		return resp, false
	}
	if !t.Report(ds) || t.deferred(resp.Deferred) {
		return resp, false
	}
	if bytes.Equal(resp.Private, req.Private) {
		return resp, true
	}
	var kept bool
	resp.Private, kept = keepablePrivate(t, resp.Private, r, "Provider produced invalid plan")
	return resp, kept
}

// checkPlanned decodes the answer and holds it against configuration and prior object. An answer equal
// to the proposal was made by our own rules and needs no further look.
func checkPlanned(t *Tools, p *Proposal, prior cty.Value, r *rights, proposed cty.Value, proposedWire []byte) bool {
	if sameWire(t, p.Planned, proposedWire) && (!t.Type.HasWriteOnly() || noWriteOnlyIn(t, p.Planned)) {
		p.Value = proposed
		return true
	}
	var ok bool
	if p.Value, ok = decode(t, p.Planned, "Provider produced invalid plan"); !ok {
		return false
	}
	if p.Value.IsNull() {
		t.breach("Provider produced invalid plan", "%s planned to destroy %s, which the configuration wants. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return false
	}
	v, clean := nullWriteOnly(t, p.Value, "Provider produced invalid plan", "during planning")
	if !clean {
		return false
	}
	p.Value = v
	if _, kept := keepable(t, v, r, "Provider produced invalid plan"); !kept {
		return false
	}
	if p.Legacy {
		return true
	}
	breaches := t.Type.PlanBreaches(prior, t.Type.NullWriteOnly(p.Asked.Raw), p.Value)
	for _, b := range breaches {
		t.breach("Provider produced invalid plan", "%s planned an invalid value for %s: %s.\n\nThis is a bug in the provider, to be reported there.",
			t.who(), placeText(t, b.Path), said(b, p.Asked.Marks))
	}
	return len(breaches) == 0
}

// said is a breach's text, without values where a mark lies on the way to the place or in it.
func said(b schema.Breach, marks []mark.At) string {
	for _, m := range marks {
		if b.Path.HasPrefix(m.Path) || m.Path.HasPrefix(b.Path) {
			return b.Safe
		}
	}
	return b.Text
}

// placeText is an attribute of the object as messages name it.
func placeText(t *Tools, p cty.Path) string { return t.Object.String() + mark.PathBelow(p) }

// replacePaths returns the paths whose values change: the protocol says that other paths do not count. A write-only
// attribute has no visible change, so the provider's word is taken for it. A path that the schema does not have is an error.
func replacePaths(t *Tools, paths []cty.Path, prior, planned cty.Value) ([]cty.Path, bool) {
	if prior.IsNull() {
		return nil, true
	}
	for _, p := range paths {
		if !t.Type.HasPath(p) {
			t.breach("Provider produced invalid plan", "%s requires that %s be replaced because of the attribute \"%s\", which its schema does not have. This is a bug in the provider, to be reported there.",
				t.who(), t.Object, mark.PathString(p))
			return nil, false
		}
	}
	return slices.DeleteFunc(paths, func(p cty.Path) bool {
		if t.Type.IsWriteOnly(p) {
			return false
		}
		before, err1 := p.Apply(prior)
		after, err2 := p.Apply(planned)
		if err1 != nil || err2 != nil {
			return err1 != nil && err2 != nil // a place in only one of them is a change
		}
		return before.RawEquals(after)
	}), true
}

// Plan decides what to do about a declared object. A tainted object is planned as if there were none, since a provider may
// refuse to change it in place.
func (t *Tools) Plan(ctx context.Context, config mark.Value, cur Current, f Forced) (*plan.Change, bool) {
	from := cur
	if cur.Entry != nil && cur.Entry.Tainted {
		from = Current{}
	}
	p, ok := t.Propose(ctx, config, from, f)
	if !ok {
		return nil, false
	}
	c := &plan.Change{Object: t.Object, Was: t.Object, Entry: cur.Entry, Settled: t.Settled(config)}
	if cur.Entry == nil {
		c.Action = plan.Create
		completeChange(t, c, p, config)
		return c, true
	}
	c.Action, c.Why, c.Replace = decide(t, cur, p, f)
	if c.Action == plan.NoOp && remarked(t, cur.Entry, p) {
		c.Action = plan.Update
	}
	switch {
	case c.Action == plan.NoOp:
		c.Unchanged = true
		c.Private, c.Identity = p.Private, p.Identity
		return c, true
	case c.Action.Replaces() && from.Entry != nil:
		if len(p.Private) > 0 {
			c.Settled = false // the new object does not inherit private data: apply plans it without
		}
		if p, ok = t.Propose(ctx, config, Current{Private: p.Private}, Forced{}); !ok {
			return nil, false
		}
	}
	completeChange(t, c, p, config)
	if before, ok := t.Value(cur.Entry, cur.Known); ok {
		c.Before = before
	}
	c.BeforeIdentity = identityOf(t, cur.Entry)
	return c, true
}

// remarked reports whether other parts of an object are sensitive than those that are stored as such.
// Nothing changes then but what may be shown, which has to be stored.
func remarked(t *Tools, e *state.Entry, p *Proposal) bool {
	if !p.Asked.Has(mark.Sensitive) && len(e.Sensitive) == 0 {
		return false
	}
	was, is := sensitivePaths(t, p.Value, e.Sensitive), markResult(t, p.Value, p.Asked).PathsOf(mark.Sensitive)
	return !mark.SamePaths(was, is)
}

// Nothing reports whether a proposal leaves an object as it is. Sets may be equal though their wire
// forms are not.
func (t *Tools) Nothing(p *Proposal) bool {
	return sameWire(t, p.Planned, p.Prior) || p.Was.RawEquals(p.Value)
}

// decide chooses the action for an object that exists and is wanted.
func decide(t *Tools, cur Current, p *Proposal, f Forced) (plan.Action, plan.Reason, []cty.Path) {
	const replace = plan.DeleteCreate // the order may turn it round
	switch {
	case f.Triggered:
		return replace, plan.ReplaceByTriggers, p.Replace
	case cur.Entry.Tainted:
		return replace, plan.ReplaceTainted, nil
	case f.Replace:
		return replace, plan.ReplaceByRequest, p.Replace
	case len(p.Replace) > 0:
		return replace, plan.ReplaceCannotUpdate, p.Replace
	case t.Nothing(p):
		return plan.NoOp, plan.NoReason, nil
	}
	return plan.Update, plan.NoReason, nil
}

// completeChange writes the proposal into the change.
func completeChange(t *Tools, c *plan.Change, p *Proposal, config mark.Value) {
	c.Before = mark.Plain(t.Type.Null())
	c.After = markResult(t, p.Value, p.Asked)
	if t.Type.HasWriteOnly() {
		c.Sent = t.Type.WriteOnly(config.Raw)
	}
	c.Private, c.Identity, c.Legacy = p.Private, p.Identity, p.Legacy
	if c.Settled {
		c.Asked = p.digest()
	}
}

// digest identifies the configuration that a proposal was made with.
func (p *Proposal) digest() []byte {
	sum := sha256.Sum256(p.Config)
	return sum[:16]
}

// markResult gives an answer the marks of the configuration it came from and those of its schema.
// Ephemeral marks end here: what a provider answers about a persistent object is not ephemeral.
func markResult(t *Tools, v cty.Value, config mark.Value) mark.Value {
	return mark.Value{Raw: v, Marks: withSchemaMarks(t, mark.Carry(config.Sensitive(), v), v)}
}

// PlanDown plans the end of an object: the provider is asked where it wants to be.
func (t *Tools) PlanDown(ctx context.Context, cur Current, capable bool) (*plan.Change, bool) {
	c := &plan.Change{Object: t.Object, Was: t.Object, Entry: cur.Entry, Action: plan.Delete, Private: cur.Entry.Private}
	before, ok := t.Value(cur.Entry, cur.Known)
	if !ok {
		return nil, false
	}
	c.Before, c.After = before, mark.Plain(t.Type.Null())
	c.BeforeIdentity = identityOf(t, cur.Entry)
	if !capable {
		return c, true
	}
	resp, ok := callPlan(ctx, t, &rights{was: cur.Entry}, provider.PlanRequest{
		Type: t.Type.Name, Prior: send(cur.Wire), Proposed: send(nullWire), Config: send(nullWire),
		Private: cur.Entry.Private, Identity: storedIdentity(t, cur.Entry), Meta: t.Type.Meta, Allow: t.allow(),
	})
	if !ok {
		return nil, false
	}
	if !isNull(resp.Planned.Msgpack) || resp.Planned.JSON != nil && string(resp.Planned.JSON) != "null" {
		t.breach("Provider produced invalid plan", "%s was asked to plan the destruction of %s, and planned an object instead of none. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return nil, false
	}
	c.Private = resp.Private
	return c, true
}

// Within reports whether the final plan of an object keeps to the approved one: the action is the same, and no known value
// is another. Providers of the legacy type system are held to it like others: what was approved is what is done.
func (t *Tools) Within(approved *plan.Change, p *Proposal) bool {
	const title = "Provider produced inconsistent final plan"
	why := "This is a bug in the provider, to be reported there."
	if approved.Settled && !bytes.Equal(approved.Asked, p.digest()) {
		why = "The configuration of " + t.Object.String() + " was known when the plan was made, and is another now: it refers to a value that another provider planned and did not keep to. This is a bug in that provider, to be reported there."
	}
	why += "\n\n" + t.Object.String() + " was not changed. Plan again to see what is left to do."
	if approved.Action == plan.Update && len(p.Replace) > 0 {
		replace := "DeleteThenCreate"
		if approved.CreateFirst {
			replace = "CreateThenDelete"
		}
		t.breach(title, "When expanding the plan for %s to include new values learned so far during apply, %s changed the planned action from Update to %s: %s cannot be changed in place.\n\n%s",
			t.Object, t.who(), replace, placeText(t, p.Replace[0]), why)
		return false
	}
	breaches := t.Type.ApplyBreaches(approved.After.Raw, p.Value)
	for _, b := range breaches {
		t.breach(title, "When expanding the plan for %s to include new values learned so far during apply, %s produced an invalid new value for %s: %s.\n\n%s",
			t.Object, t.who(), placeText(t, b.Path), said(b, approved.After.Marks), why)
	}
	return len(breaches) == 0
}

// Settled reports whether a configuration leaves nothing for apply to plan again.
func (t *Tools) Settled(config mark.Value) bool {
	return ctyvalue.WhollyKnown(config.Raw) && !config.Has(mark.Ephemeral) && len(t.Type.WriteOnly(config.Raw)) == 0
}

// ignore returns the configuration with the prior object's values, and their sensitive marks, where ignore_changes says so.
// Where everything is ignored, attributes that only the provider sets stay null: no configuration has them.
func ignore(t *Tools, config mark.Value, prior cty.Value, was *state.Entry, f Forced) mark.Value {
	paths := slices.Clone(f.ignored())
	if prior.IsNull() || len(paths) == 0 {
		return config
	}
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
	for _, m := range mark.SensitiveAt(was.Sensitive) {
		if ignored(m.Path) {
			stored = append(stored, m)
			continue
		}
		for _, p := range paths { // a part of a sensitive value is sensitive where it is kept alone
			if p.HasPrefix(m.Path) && !marked(out, p) {
				stored = append(stored, mark.At{Path: p, Tag: mark.Sensitive})
			}
		}
	}
	out.Marks = mark.Union(out.Marks, stored)
	return out
}

// marked reports whether the value at a path lies in a sensitive one.
func marked(v mark.Value, path cty.Path) bool {
	return slices.ContainsFunc(v.Marks, func(m mark.At) bool { return m.Tag == mark.Sensitive && path.HasPrefix(m.Path) })
}

// meant is the part of a value that a path means: a key of what is no map, as an object in a dynamic attribute, stands for
// the whole of it, as in Terraform.
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

// overlay is config with the value at path taken from prior. A map key that one of them lacks is
// added or dropped; a path that leads nowhere changes nothing.
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

// hasKey reports whether a map, or an object in the place of a map, has a value for a key.
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

// fit makes an element of a collection of what was there before: in a dynamic attribute that may have
// been of another type.
func fit(v cty.Value, ty cty.Type) (cty.Value, bool) {
	v, err := convert.Convert(v, ty)
	return v, err == nil
}

// Forget is the change that leaves an object to itself.
func Forget(o addr.Object, cur Current, before mark.Value, null cty.Value) *plan.Change {
	return &plan.Change{Object: o, Was: o, Entry: cur.Entry, Action: plan.Forget, Before: before, After: mark.Plain(null)}
}
