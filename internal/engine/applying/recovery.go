package applying

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// noted returns the data that the keeper (a second process) needs to record the result of a call if the engine crashes:
// everything that the answer does not contain. It is a sequence of objects in the JSON form of the journal, a file that
// records the changes of an apply:
//
//   - the new state entry, with the fields that are known before the answer;
//   - the prior entry, "gone" if no object existed;
//   - the attributes of the prior entry, which are separate because they may be long and must not be copied;
//   - the deposed object that becomes the current object again if a create fails; absent in other cases.
func (x *step) noted(op journal.Op, o addr.Object, stored, prior *state.Entry, old addr.Object) provider.Note {
	return provider.Note{Call: uint64(op), Rest: func() [][]byte {
		stored.Attrs = []byte("{}")
		note := state.AppendObject(nil, o, x.a.hosts.Hosted(o, stored))
		was, attrs := prior, stored.Attrs
		if prior != nil && prior.Attrs != nil {
			unmarked := *prior
			unmarked.Attrs = stored.Attrs
			was, attrs = &unmarked, prior.Attrs
		}
		note = state.AppendObject(note, o, was)
		if old == (addr.Object{}) {
			return [][]byte{note, attrs}
		}
		return [][]byte{note, attrs, state.AppendObject(nil, old, x.a.entry(old))}
	}}
}

// Recovery records the results of provider calls for an engine that crashed. It runs in the keeper, the second process
// that holds the connections to the providers.
type Recovery struct {
	Provider provider.Provider // the provider that answered the call; its process still runs
	Secrets  *secret.Set
}

// Record returns the changes that the engine would have recorded for a call. noted is the data that step.noted made for
// the call. request and answer are the encoded messages of the call. Record returns false if it cannot determine the
// changes, or if the answer contains a secret. The result of the call then counts as unknown.
func (l Recovery) Record(ctx context.Context, noted, request, answer []byte) (changed []journal.Change, ok bool) {
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
	entry, ok := t.Recovered(ctx, call.Request, call.Response, call.Diags, stored, prior)
	if entry != nil || len(note) == 3 {
		return []journal.Change{{Object: o, Entry: entry}}, ok
	}
	old, before, err := p.Parse(note[3])
	return restored(o, old, before), ok && err == nil
}

// Learn registers the secrets in the provider's answer to a call that opened an ephemeral resource, so that outputs
// mask them. request and answer are the encoded messages of the call. It returns false if the answer cannot be decoded.
func (l Recovery) Learn(ctx context.Context, request, answer []byte) bool {
	call, err := wire.ReadOpening(request, answer)
	if err != nil {
		return false
	}
	o := addr.Object{Instance: addr.Resource{Mode: addr.Ephemeral, Type: call.Type, Name: "lost"}.In(addr.ModuleInstance{}).Instance(addr.NoKey)}
	t, ok := l.tools(ctx, o, call.Type)
	return ok && t.Learn(call.Config, call.Result)
}

// tools returns the tools to decode an answer about an object, or false if the provider has no usable schema for it.
func (l Recovery) tools(ctx context.Context, o addr.Object, typ string) (*object.Tools, bool) {
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
		Object: o, Provider: guard.Of(l.Provider), Type: &object.Type{Schema: s, Name: typ, Mode: o.Mode, Identity: identity},
		Walk: &object.Walk{Guard: &guard.Guard{Secrets: l.Secrets}}, Bag: &diag.Bag{},
	}, true
}

// expected returns a state entry with the fields that are known before the provider answers. asked is the
// configuration, whose sensitive paths the entry gets. tainted is true if provisioners must run after the call.
func expected(s object.Stored, asked mark.Value, tainted bool) *state.Entry {
	return &state.Entry{
		Provider: s.Provider, Recorded: s.Recorded, CreateFirst: s.CreateFirst, SkipDestroy: s.SkipDestroy, Protected: s.Protected,
		Sensitive: asked.PathsOf(mark.Sensitive), Tainted: tainted,
	}
}
