package object

import (
	"bytes"
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Up creates or updates an object as proposed. The entry is what is to be recorded, also when the
// call failed; it is nil if there is nothing.
func (t *Tools) Up(ctx context.Context, p *Proposal, prior *state.Entry, s Stored) (mark.Value, *state.Entry, bool) {
	op := event.Update
	if prior == nil {
		op = event.Create
	}
	began := time.Now()
	idKey, id := wireID(t, p.Prior)
	t.tell(event.Started{Object: t.Object, Op: op, IDKey: idKey, ID: id, At: began})
	var resp provider.ApplyResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Apply(ctx, provider.ApplyRequest{
			Type: t.Type.Name, Prior: send(p.Prior), Planned: send(p.Planned), Config: send(p.Written),
			Private: p.Private, Identity: identityWire(t, p.Identity), Meta: t.Type.Meta, Note: t.Note,
		})
	})
	if !called {
		return mark.Value{}, prior, false
	}
	if resp.Unanswered {
		t.unanswered(op, ds)
	}
	ok := t.Report(ds)
	v, entry, good := recordMade(ctx, t, p, resp, prior, s, ok)
	ok = ok && good
	if idKey, id = shownID(t, v.Raw); !ok {
		t.tell(event.Failed{Object: t.Object, Op: op, Took: time.Since(began)})
		if prior == nil && entry != nil {
			entry.Tainted = true
		}
		return v, entry, false
	}
	done := event.Done{Object: t.Object, Op: op, IDKey: idKey, ID: id, Took: time.Since(began)}
	if s.Later != nil {
		s.Later(done)
	} else {
		t.tell(done)
	}
	return v, entry, true
}

// Same is an object that a proposal leaves as it is, with what the configuration now says is sensitive
// in it. It reports whether that is something new, which is reported as an update although the provider
// has nothing to do with it.
func (t *Tools) Same(p *Proposal, e *state.Entry) (mark.Value, *state.Entry, bool) {
	v, next := markResult(t, p.Value, p.Asked), *e
	next.Sensitive = v.PathsOf(mark.Sensitive)
	news := remarked(t, e, p)
	if news {
		idKey, id := wireID(t, p.Prior)
		t.tell(event.Started{Object: t.Object, Op: event.Update, IDKey: idKey, ID: id, At: time.Now()})
		t.tell(event.Done{Object: t.Object, Op: event.Update, IDKey: idKey, ID: id})
	}
	return v, &next, news
}

// recordMade turns the answer to an apply call into a value and an entry, holding it against the plan.
func recordMade(ctx context.Context, t *Tools, p *Proposal, resp provider.ApplyResponse, prior *state.Entry, s Stored, succeeded bool) (mark.Value, *state.Entry, bool) {
	if resp.State.Msgpack == nil && resp.State.JSON == nil {
		if succeeded {
			t.breach("Provider produced inconsistent result after apply", "%s did not report what became of %s. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		}
		return mark.Value{}, prior, false
	}
	wire, ok := msgpackOf(t, resp.State, "Provider produced invalid object")
	if !ok {
		return mark.Value{}, recordUnreadable(t, prior, s, resp), false
	}
	v, ok := decode(t, wire, "Provider produced invalid object")
	if !ok {
		return mark.Value{}, recordUnreadable(t, prior, s, resp), false
	}
	if v.IsNull() {
		// The prior object is kept: the provider may not have found it yet, and the next refresh finds out.
		if succeeded {
			t.breach("Provider produced inconsistent result after apply", "When applying changes to %s, %s answered that there is no object: \"Root object was present, but now absent\". This is a bug in the provider, to be reported there.", t.Object, t.who())
		}
		return mark.Value{}, prior, false
	}
	v, good := settle(t, v, succeeded)
	identity, ok := decodeIdentity(t, resp.Identity)
	entry := &state.Entry{
		Provider: s.Provider, Private: resp.Private, Recorded: s.Recorded,
		CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy,
	}
	answered, said := v, identity
	v, identity, kept := guardEntry(t, entry, v, identity, &rights{config: p.Asked.Raw, was: prior}, "Provider produced invalid object")
	if !kept && prior == nil && lostValue(t, answered, said, v, identity) && undo(ctx, t, wire, resp, s) {
		return mark.Value{}, nil, false
	}
	good = good && kept
	if good && succeeded && !resp.LegacyTypes {
		good = asPlanned(t, p, v, markResult(t, v, p.Asked).Marks)
	}
	value := markResult(t, v, p.Asked)
	if identity == cty.NilVal {
		identity = p.Identity
	} else if ok && !resp.LegacyTypes { // that SDK holds its providers to it itself, as far as it shall
		good = steadyIdentity(t, p.Identity, identity, value) && good
	}
	entry.Sensitive = value.PathsOf(mark.Sensitive)
	if prior != nil {
		entry.Tainted, entry.Extra = prior.Tainted && !succeeded, prior.Extra
	}
	if identity != cty.NilVal && !identity.IsWhollyKnown() {
		identity = cty.NilVal
	}
	if !fillEntry(t, entry, v, identity) {
		return value, recordUnreadable(t, prior, s, resp), false
	}
	return value, entry, good && ok
}

// settle makes a value fit to be kept: no write-only values, nothing unknown.
func settle(t *Tools, v cty.Value, succeeded bool) (cty.Value, bool) {
	v, good := nullWriteOnly(t, v, "Provider produced invalid object", "after apply")
	if ctyvalue.WhollyKnown(v) {
		return v, good
	}
	if succeeded {
		whollyKnown(t, v, "Provider returned invalid result object after apply", "after the apply operation")
		good = false
	}
	v, _ = cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	return v, good
}

// asPlanned reports where the result is not what was planned.
func asPlanned(t *Tools, p *Proposal, v cty.Value, marks []mark.At) bool {
	breaches := t.Type.ApplyBreaches(p.Value, v)
	for _, b := range breaches {
		t.breach("Provider produced inconsistent result after apply", "When applying changes to %s, %s produced an unexpected new value: %s: %s.\n\nThis is a bug in the provider, to be reported there.",
			t.Object, t.who(), placeText(t, b.Path), said(b, marks))
	}
	return len(breaches) == 0
}

// recordUnreadable keeps what can be kept of an object whose answer cannot be read: an update keeps what
// was known before; a create keeps an empty, tainted object, so that it is not forgotten.
func recordUnreadable(t *Tools, prior *state.Entry, s Stored, resp provider.ApplyResponse) *state.Entry {
	if prior != nil {
		return prior
	}
	entry := &state.Entry{Provider: s.Provider, Recorded: s.Recorded, CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy, Tainted: true}
	entry.Private, _ = keepablePrivate(t, resp.Private, &rights{}, "Provider produced invalid object")
	if !fillEntry(t, entry, t.Type.Empty(), cty.NilVal) {
		return nil
	}
	return entry
}

// shownID finds what identifies a value to a reader.
func shownID(t *Tools, v cty.Value) (string, string) { return t.Type.Shown(v) }

// Shown returns the attribute that identifies a value to a reader, and its text.
func (t *Type) Shown(v cty.Value) (key, text string) {
	if v == cty.NilVal || v.IsNull() {
		return "", ""
	}
	for _, name := range []string{"id", "name"} {
		a := t.Attr(name)
		if a == nil || a.Type != cty.String || a.Sensitive || a.WriteOnly {
			continue
		}
		if s := v.GetAttr(name); s.IsKnown() && !s.IsNull() && s.AsString() != "" {
			return name, s.AsString()
		}
	}
	return "", ""
}

// Down destroys an object. The entry is what is left of it, nil for nothing.
func (t *Tools) Down(ctx context.Context, cur Current, private []byte) (*state.Entry, bool) {
	began := t.Began
	idKey, id := wireID(t, cur.Wire)
	if began.IsZero() {
		began = time.Now()
		t.tell(event.Started{Object: t.Object, Op: event.Delete, IDKey: idKey, ID: id, At: began})
	}
	var resp provider.ApplyResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Apply(ctx, provider.ApplyRequest{
			Type: t.Type.Name, Prior: send(cur.Wire), Planned: send(nullWire), Config: send(nullWire),
			Private: private, Identity: storedIdentity(t, cur.Entry), Meta: t.Type.Meta, Note: t.Note,
		})
	})
	if !called {
		return cur.Entry, false
	}
	if resp.Unanswered {
		t.unanswered(event.Delete, ds)
	}
	ok := t.Report(ds)
	left, good := recordLeft(t, cur, resp, ok)
	if ok = ok && good; !ok {
		t.tell(event.Failed{Object: t.Object, Op: event.Delete, Took: time.Since(began)})
		return left, false
	}
	t.tell(event.Done{Object: t.Object, Op: event.Delete, IDKey: idKey, ID: id, Took: time.Since(began)})
	return nil, true
}

// recordLeft is what remains after a destroy call.
func recordLeft(t *Tools, cur Current, resp provider.ApplyResponse, succeeded bool) (*state.Entry, bool) {
	if resp.State.Msgpack == nil && resp.State.JSON == nil {
		if succeeded {
			return nil, true
		}
		return cur.Entry, false
	}
	wire, ok := msgpackOf(t, resp.State, "Provider produced invalid object")
	if !ok {
		return cur.Entry, false
	}
	if isNull(wire) {
		if succeeded {
			return nil, true
		}
		return cur.Entry, false // as Terraform: what failed may not have destroyed all, and refreshing finds out
	}
	v, ok := decode(t, wire, "Provider produced invalid object")
	if !ok {
		return cur.Entry, false
	}
	if succeeded {
		t.breach("Provider returned invalid result object after apply", "%s reported success in destroying %s and yet answered with an object. This is a bug in the provider, to be reported there; the object stays recorded.", t.who(), t.Object)
	}
	v, _ = settle(t, v, false)
	next := *cur.Entry
	next.Private = resp.Private
	v, _, kept := guardEntry(t, &next, v, cty.NilVal, &rights{was: cur.Entry}, "Provider produced invalid object")
	if !kept || !fillEntry(t, &next, v, cty.NilVal) {
		return cur.Entry, false
	}
	return &next, false
}

// Stored is a stored object in its wire form, without a provider's help: the entry must be of the
// current schema, as everything is that a plan has refreshed.
func (t *Tools) Stored(e *state.Entry) (Known, bool) {
	v, err := t.Type.DecodeJSON(e.Attrs)
	if err != nil {
		malformed(t, "Invalid stored object", err)
		return Known{}, false
	}
	wire, ok := encode(t, t.Type.FillBlocks(v))
	return Known{Wire: wire, Upgraded: wire}, ok
}

// Approved returns the proposal that the plan recorded, if nothing that the provider decided by has changed since: the
// configuration was wholly known, nothing in it is write-only, and it is the same now. It returns nil if the configuration
// is another: a provider of the legacy type system may apply another value than it planned, and this object refer to it.
func (t *Tools) Approved(c *plan.Change, cur Current, config mark.Value, f Forced) (*Proposal, bool) {
	p := &Proposal{Prior: nullWire, Was: t.Type.Null(), Value: c.After.Raw, Private: c.Private, Identity: c.Identity, Legacy: c.Legacy}
	var ok bool
	if cur.Entry != nil {
		p.Prior = cur.Wire
		if p.Was, ok = decode(t, cur.Wire, "Invalid stored object"); !ok {
			return nil, false
		}
	}
	if !ask(t, p, config, cur.Entry, f) {
		return nil, false
	}
	if !bytes.Equal(c.Asked, p.digest()) {
		return nil, true
	}
	p.Planned, ok = encode(t, c.After.Raw)
	return p, ok
}
