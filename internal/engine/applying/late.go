package applying

import (
	"context"
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// note is what a record of a call needs and the answer has not: objects as they are written in journals.
type note struct {
	Stored json.RawMessage // the entry, as far as it is known before the answer
	Prior  json.RawMessage // what was there; "gone" for nothing
	Old    json.RawMessage `json:",omitempty"` // the deposed object that is current again if a create comes to nothing
}

// noted gives what goes with a call, for another process that makes its record should this one be lost.
func (x *step) noted(op journal.Op, o addr.Object, stored, prior *state.Entry, old addr.Object) provider.Note {
	return provider.Note{Call: uint64(op), Rest: func() []byte {
		stored.Attrs = []byte("{}")
		n := note{state.AppendObject(nil, o, x.a.hosts.Hosted(o, stored)), state.AppendObject(nil, o, prior), nil}
		if old != (addr.Object{}) {
			n.Old = state.AppendObject(nil, old, x.a.entry(old))
		}
		text, err := json.Marshal(n)
		if err != nil {
			panic(err) // there is nothing in it that cannot be written
		}
		return text
	}}
}

// Late is what a process knows that goes on in the place of one that was lost.
type Late struct {
	Provider provider.Provider // as it runs
	Secrets  *secret.Set
}

// Record makes the record of a call that changed something: that which the lost process would have made. It reports
// false where it cannot tell what to record, or must not: the outcome of the call is unknown then, and named.
func (l Late) Record(ctx context.Context, noted, request, answer []byte) (changed []journal.Change, ok bool) {
	var n note
	var p state.ObjectParser
	err := json.Unmarshal(noted, &n)
	call, bad := wire.ReadChange(request, answer)
	if err != nil || bad != nil {
		return nil, false
	}
	o, stored, err := p.Parse(n.Stored)
	if err != nil {
		return nil, false
	}
	_, prior, err := p.Parse(n.Prior)
	if err != nil {
		return nil, false
	}
	t, ok := l.tools(ctx, o, call.Request.Type)
	if !ok {
		return nil, false
	}
	t.Type.Meta = call.Request.Meta
	entry, ok := t.Late(ctx, call.Request, call.Response, call.Diags, stored, prior)
	if entry != nil || n.Old == nil {
		return []journal.Change{{Object: o, Entry: entry}}, ok
	}
	old, before, err := p.Parse(n.Old)
	return restored(o, old, before), ok && err == nil
}

// Learn registers the secrets in the answer to a call that opened something.
func (l Late) Learn(ctx context.Context, request, answer []byte) bool {
	call, err := wire.ReadOpening(request, answer)
	if err != nil {
		return false
	}
	o := addr.Object{Instance: addr.Resource{Mode: addr.Ephemeral, Type: call.Type, Name: "lost"}.In(addr.ModuleInstance{}).Instance(addr.NoKey)}
	t, ok := l.tools(ctx, o, call.Type)
	return ok && t.Learn(call.Config, call.Result)
}

// tools is what it takes to read an answer about an object.
func (l Late) tools(ctx context.Context, o addr.Object, typ string) (*object.Tools, bool) {
	schemas, ds := l.Provider.Schemas(ctx)
	if ds.HasErrors() {
		return nil, false
	}
	s, err := schemas.Usable(o.Mode, typ)
	if s == nil || err != nil {
		return nil, false
	}
	identity, _ := schemas.Identity(typ)
	return &object.Tools{
		Object: o, Provider: l.Provider, Type: &object.Type{Schema: s, Name: typ, Mode: o.Mode, Identity: identity},
		Walk: &object.Walk{Secrets: l.Secrets}, Bag: &diag.Bag{},
	}, true
}

// expected is an entry as far as it is known before the provider has answered.
func expected(s object.Stored, asked mark.Value, tainted bool) *state.Entry {
	return &state.Entry{
		Provider: s.Provider, Recorded: s.Recorded, CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy,
		Sensitive: asked.PathsOf(mark.Sensitive), Tainted: tainted,
	}
}
