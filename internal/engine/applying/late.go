package applying

import (
	"bytes"
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

// noted gives what goes with a call, for another process that makes its record should this one be lost: what the
// record needs and the answer has not. It is objects as journals have them, one after the other: the entry, as far as
// it is known before the answer; what was there, "gone" for nothing; its attributes, which may be long and are not
// copied; and the deposed object that is current again if a create comes to nothing, if there is one.
func (x *step) noted(op journal.Op, o addr.Object, stored, prior *state.Entry, old addr.Object) provider.Note {
	return provider.Note{Call: uint64(op), Rest: func() [][]byte {
		stored.Attrs = []byte("{}")
		note := state.AppendObject(nil, o, x.a.hosts.Hosted(o, stored))
		was, attrs := prior, stored.Attrs
		if prior != nil && prior.Attrs != nil {
			bare := *prior
			bare.Attrs = stored.Attrs
			was, attrs = &bare, prior.Attrs
		}
		note = state.AppendObject(note, o, was)
		if old == (addr.Object{}) {
			return [][]byte{note, attrs}
		}
		return [][]byte{note, attrs, state.AppendObject(nil, old, x.a.entry(old))}
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
	var note []json.RawMessage
	in := json.NewDecoder(bytes.NewReader(noted))
	for in.More() {
		var object json.RawMessage
		if in.Decode(&object) != nil {
			return nil, false
		}
		note = append(note, object)
	}
	call, bad := wire.ReadChange(request, answer)
	if len(note) < 3 || bad != nil {
		return nil, false
	}
	var p state.ObjectParser
	o, stored, err := p.Parse(note[0])
	if err != nil {
		return nil, false
	}
	_, prior, err := p.Parse(note[1])
	if err != nil {
		return nil, false
	}
	if prior != nil && prior.Attrs != nil {
		prior.Attrs = note[2]
	}
	t, ok := l.tools(ctx, o, call.Request.Type)
	if !ok {
		return nil, false
	}
	t.Type.Meta = call.Request.Meta
	entry, ok := t.Late(ctx, call.Request, call.Response, call.Diags, stored, prior)
	if entry != nil || len(note) == 3 {
		return []journal.Change{{Object: o, Entry: entry}}, ok
	}
	old, before, err := p.Parse(note[3])
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
