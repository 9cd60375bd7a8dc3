package object

import (
	"bytes"
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Up asks the provider to create or update an object as the proposal p plans it. prior is the entry of the object in
// the state, or nil to create the object. s has the fields of the new entry that are not from the provider. Up returns
// the new value of the object, and the entry that the caller must record in the state, even if Up returns false. The
// entry is nil if no object is known to exist: the create failed, or has no answer. Up returns false if the call
// failed, if the answer broke a rule, or if the walk (the plan or apply) was cancelled before the call.
func (t *Tools) Up(ctx context.Context, p *Proposal, prior *state.Entry, s Stored) (mark.Value, *state.Entry, bool) {
	op := event.Update
	if prior == nil {
		op = event.Create
	}
	began := time.Now()
	idKey, id := wireID(t, p.Prior, prior)
	t.send(event.Started{Object: t.Object, Op: op, IDKey: idKey, ID: id, At: began})
	call := event.CallUpdate
	if prior == nil {
		call = event.CallCreate
	}
	answer, called := t.ask(ctx, call, func() guard.Answer {
		return t.Provider.Apply(ctx, provider.ApplyRequest{
			Type: t.Type.Name, Prior: guard.Send(p.Prior), Planned: guard.Send(p.Planned), Config: guard.Send(p.Written),
			Private: p.Private, Identity: t.Type.IdentityWire(p.Identity), Meta: t.Type.Meta, Note: t.Note,
		})
	})
	if !called {
		return mark.Value{}, prior, false
	}
	v, entry, ok := recordMade(ctx, t, p, &answer, prior, s)
	if idKey, id = t.Type.Shown(v); !ok {
		t.send(event.Failed{Object: t.Object, Op: op, Took: time.Since(began)})
		if prior == nil && entry != nil {
			entry.Tainted = true
		}
		return v, entry, false
	}
	done := event.Done{Object: t.Object, Op: op, IDKey: idKey, ID: id, Took: time.Since(began)}
	if s.Later != nil {
		s.Later(done)
	} else {
		t.send(done)
	}
	return v, entry, true
}

// Same returns the value and the entry of an object that the proposal p does not change. e is the stored entry. The
// returned entry has the sensitive paths of the current configuration. If these paths differ from the paths in e, Same
// sends the events of an update and returns true, although it calls no provider.
func (t *Tools) Same(p *Proposal, e *state.Entry) (mark.Value, *state.Entry, bool) {
	v, next := t.Type.Marked(p.Value, p.Asked), *e
	next.Sensitive = v.PathsOf(mark.Sensitive)
	news := remarked(t, e, p)
	if news {
		idKey, id := wireID(t, p.Prior, &next)
		t.send(event.Started{Object: t.Object, Op: event.Update, IDKey: idKey, ID: id, At: time.Now()})
		t.send(event.Done{Object: t.Object, Op: event.Update, IDKey: idKey, ID: id})
	}
	return v, &next, news
}

// recordMade turns the answer to an apply call into a value and an entry. prior is the entry before the call; nil means
// that the call creates the object. recordMade returns false if the call or a check of the answer failed. The state
// must keep the returned entry then, too. The entry is nil if no object is known to exist.
func recordMade(ctx context.Context, t *Tools, p *Proposal, answer *guard.Answer, prior *state.Entry, s Stored) (mark.Value, *state.Entry, bool) {
	op := event.Update
	if prior == nil {
		op = event.Create
	}
	a, ok := t.admit(answer, guard.Terms{
		Config: p.Asked, Was: prior, Want: p.Value, Identity: p.Identity, Unanswered: t.unanswered(op),
		Missing: func(made *guard.Answer) bool { return undo(ctx, t, made, s) },
	})
	t.Unanswered = t.Unanswered || a.Unanswered
	switch {
	case a.Missing:
		return mark.Value{}, nil, false
	case a.Object == guard.Refused:
		return mark.Value{}, recordUnreadable(t, prior, s, a.Private), false
	case a.Object != guard.Present: // the call failed or its answer has no object; after an update, the state keeps the prior entry, and the next refresh shows whether the object exists
		return mark.Value{}, prior, false
	}
	value := t.Type.Marked(a.Value, p.Asked)
	entry := &state.Entry{
		Provider: s.Provider, Private: a.Private, Recorded: s.Recorded, Sensitive: value.PathsOf(mark.Sensitive),
		CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy, Protected: s.Protected,
	}
	if prior != nil {
		entry.Tainted, entry.Extra = prior.Tainted && !a.Succeeded, prior.Extra
	}
	identity := a.Identity
	if identity == cty.NilVal {
		identity = p.Identity
	}
	if identity != cty.NilVal && !identity.IsWhollyKnown() {
		identity = cty.NilVal
	}
	if !t.subject().Fill(entry, a.Value, identity) {
		return value, recordUnreadable(t, prior, s, a.Private), false
	}
	return value, entry, ok
}

// recordUnreadable returns an entry for an object whose answer cannot be read. After an update, this is the prior
// entry. After a create, it is an empty, tainted object with the private data, so that the state does not lose the
// object.
func recordUnreadable(t *Tools, prior *state.Entry, s Stored, private []byte) *state.Entry {
	if prior != nil {
		return prior
	}
	entry := &state.Entry{Provider: s.Provider, Private: private, Recorded: s.Recorded, CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy, Protected: s.Protected, Tainted: true}
	if !t.subject().Fill(entry, t.Type.Empty(), cty.NilVal) {
		return nil
	}
	return entry
}

// undo destroys an object that was just created. recordMade calls undo if the answer has a secret in the identifier of
// the object: the state stores no secrets, and the other attributes do not identify the object. undo always reports an
// error. It returns true if the object was destroyed. It makes no call if the configuration keeps destroyed objects
// (SkipDestroy).
func undo(ctx context.Context, t *Tools, made *guard.Answer, s Stored) bool {
	undone := false
	if !s.SkipDestroy {
		t.token(ctx, func() {
			answer := t.Provider.Undo(ctx, t.Type, made)
			_, undone = t.admit(&answer, guard.Terms{})
		})
	}
	if undone {
		t.breach("Provider produced invalid object", "The provider put a secret into the identifier of %s. Lethe stores no secrets and could not find the object without its identifier, so it destroyed the object. Pass no secrets to this provider until the bug is fixed.", t.Object)
	} else {
		t.breach("Provider produced invalid object", "The provider put a secret into the identifier of %s. Lethe stores no secrets, and could not destroy the object. It still exists, and the state has it without its identifier. Destroy it by other means, then remove it from the state with `lethe state rm`.", t.Object)
	}
	return undone
}

// Down asks the provider to destroy the object cur. private is the private data of the planned destruction. Down
// returns nil and true if the object no longer exists. Otherwise it returns false and the entry that the caller must
// record in the state.
func (t *Tools) Down(ctx context.Context, cur Current, private []byte) (*state.Entry, bool) {
	began := t.Began
	idKey, id := wireID(t, cur.Wire, cur.Entry)
	if began.IsZero() {
		began = time.Now()
		t.send(event.Started{Object: t.Object, Op: event.Delete, IDKey: idKey, ID: id, At: began})
	}
	answer, called := t.ask(ctx, event.CallDelete, func() guard.Answer {
		return t.Provider.Apply(ctx, provider.ApplyRequest{
			Type: t.Type.Name, Prior: guard.Send(cur.Wire), Planned: guard.Send(guard.NullWire), Config: guard.Send(guard.NullWire),
			Private: private, Identity: storedIdentity(t, cur.Entry), Meta: t.Type.Meta, Note: t.Note,
		})
	})
	if !called {
		return cur.Entry, false
	}
	left, ok := recordLeft(t, cur, &answer)
	if !ok {
		t.send(event.Failed{Object: t.Object, Op: event.Delete, Took: time.Since(began)})
		return left, false
	}
	t.send(event.Done{Object: t.Object, Op: event.Delete, IDKey: idKey, ID: id, Took: time.Since(began)})
	return nil, true
}

// recordLeft returns nil and true if the provider answered that the object is destroyed. Otherwise it returns false and
// the entry that the state must keep: the object in the answer, or the entry of cur if the answer has no usable object.
func recordLeft(t *Tools, cur Current, answer *guard.Answer) (*state.Entry, bool) {
	a, ok := t.admit(answer, guard.Terms{Was: cur.Entry, Unanswered: t.unanswered(event.Delete)})
	t.Unanswered = t.Unanswered || a.Unanswered
	if ok {
		return nil, true
	}
	if a.Object != guard.Present {
		return cur.Entry, false
	}
	next := *cur.Entry
	next.Private = a.Private
	if !t.subject().Fill(&next, a.Value, cty.NilVal) {
		return cur.Entry, false
	}
	return &next, false
}

// Stored encodes the object in the entry e as MessagePack, without a call to the provider. The entry must have the
// current version of the schema. A plan upgrades all entries to this version. Stored reports an error and returns false
// if the object does not match the schema.
func (t *Tools) Stored(e *state.Entry) (Known, bool) {
	v, err := t.Type.DecodeJSON(e.Attrs)
	if err != nil {
		t.subject().Malformed("Invalid stored object", err)
		return Known{}, false
	}
	wire, ok := encode(t, t.Type.FillBlocks(v))
	return Known{Wire: wire, Upgraded: wire}, ok
}

// Approved makes a Proposal from the approved change c without a call to the provider, if the configuration is the same
// as in the plan. If the configuration has changed, Approved returns nil and true, and the caller must plan again: a
// provider of the legacy type system may apply another value than it planned, and this object may refer to that value.
// Approved returns false after an error.
func (t *Tools) Approved(c *plan.Change, cur Current, config mark.Value, f Forced) (*Proposal, bool) {
	p := &Proposal{Prior: guard.NullWire, Was: t.Type.Null(), Value: c.After.Raw, Private: c.Private, Identity: c.Identity, Legacy: c.Legacy}
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
