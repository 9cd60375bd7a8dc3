package object

import (
	"context"
	"regexp"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// ReadData reads a data source with the configuration config. s has the fields of the new entry that are not from the
// provider. The request contains no earlier result, so each read is independent. refreshing is true during plan, and
// false during apply. The value and the entry are empty unless the outcome is Known.
func (t *Tools) ReadData(ctx context.Context, config mark.Value, s Stored, refreshing bool) (mark.Value, *state.Entry, plan.Outcome) {
	wire, ok := encode(t, config.Raw)
	if !ok {
		return mark.Value{}, nil, plan.Outcome{}
	}
	began := time.Now()
	t.send(event.Started{Object: t.Object, Op: event.ReadData, Refreshing: refreshing, At: began})
	answer, called := t.ask(ctx, event.CallReadData, func() guard.Answer {
		return t.Provider.ReadData(ctx, provider.DataRequest{Type: t.Type.Name, Object: t.Object.String(), Config: guard.Send(wire), Meta: t.Type.Meta, Allow: t.Allow})
	})
	if !called {
		return mark.Value{}, nil, plan.Outcome{}
	}
	v, entry, out := recordRead(t, config, &answer, s)
	if out.Kind != plan.Known {
		t.send(event.Failed{Object: t.Object, Op: event.ReadData, Took: time.Since(began), Eased: t.Bag.Eased()})
		return mark.Value{}, nil, out
	}
	idKey, id := t.Type.Shown(v)
	t.send(event.Done{Object: t.Object, Op: event.ReadData, IDKey: idKey, ID: id, Refreshing: refreshing, Took: time.Since(began)})
	return v, entry, out
}

// recordRead checks the answer to ReadDataSource, and returns its value, the entry for the state and the outcome. The
// entry is nil unless the outcome is Known.
func recordRead(t *Tools, config mark.Value, answer *guard.Answer, s Stored) (mark.Value, *state.Entry, plan.Outcome) {
	a, _ := t.admit(answer, guard.Terms{Config: config, Was: s.Was})
	if a.Object != guard.Present {
		return mark.Value{}, nil, a.Outcome
	}
	value := t.Type.Marked(a.Value, config)
	entry := &state.Entry{Provider: s.Provider, Recorded: s.Recorded, Sensitive: value.PathsOf(mark.Sensitive)}
	if !a.Record(entry) {
		return mark.Value{}, nil, plan.Outcome{}
	}
	return value, entry, a.Outcome
}

// StoredData returns the result of a data source in the entry e without a call, if the result was read with the same
// configuration and has the current schema version. The returned entry has the sensitive paths of the current
// configuration. If e is nil or does not fit, StoredData returns false.
func (t *Tools) StoredData(config mark.Value, e *state.Entry) (mark.Value, *state.Entry, bool) {
	if e == nil || e.Schema != t.Type.Version || e.Attrs == nil {
		return mark.Value{}, nil, false
	}
	v, err := t.Type.DecodeJSON(e.Attrs)
	if err != nil || !t.Type.ConfigEqual(v, config.Raw) {
		return mark.Value{}, nil, false
	}
	t.send(event.Stored{Object: t.Object})
	value, next := t.Type.Marked(v, config), *e
	if next.Sensitive = value.PathsOf(mark.Sensitive); mark.SamePaths(next.Sensitive, e.Sensitive) {
		return value, e, true
	}
	return value, &next, true
}

// Validate asks the provider to check a configuration, which may have unknown values. It reports the provider's
// diagnostics, and returns false if a diagnostic is an error or the configuration cannot be encoded. Before the call,
// Validate registers the secrets in the configuration, so that outputs mask them.
func (t *Tools) Validate(ctx context.Context, config mark.Value) bool {
	if t.Walk.Guard.WriteOnly(t.Type.Schema, t.Object.Instance, config); t.Type.Mode == addr.Ephemeral || t.Type.Mode == addr.List || t.Type.Mode == addr.Action {
		t.Walk.Guard.Given(config, t.Type.Schema, t.Object.Instance.String())
	}
	wire, ok := encode(t, config.Raw)
	if !ok {
		return false
	}
	return t.Report(t.Provider.Validate(ctx, t.Type.Mode, t.Type.Name, guard.Send(wire)))
}

// Import asks the provider to import an existing object by id, or by identity if id is "". It returns the entry and the
// encoded value of the first object of the type t.Type in the answer. The entry is nil if the provider found no object.
// Import uses only Provider and Several of s. It returns false after an error.
func (t *Tools) Import(ctx context.Context, id string, identity cty.Value, s Stored) (*state.Entry, Known, bool) {
	began := time.Now()
	t.send(event.Started{Object: t.Object, Op: event.Import, ID: id, At: began})
	answer, called := t.ask(ctx, event.CallImport, func() guard.Answer {
		return t.Provider.Import(ctx, provider.ImportRequest{Type: t.Type.Name, ID: id, Identity: t.Type.IdentityWire(identity)})
	})
	a := &guard.Admitted{}
	ok := false
	if called {
		a, ok = t.admit(&answer, guard.Terms{ID: id, Several: s.Several})
	}
	switch a.Object {
	case guard.Missing:
		t.send(event.Failed{Object: t.Object, Op: event.Import, Took: time.Since(began)})
		return nil, Known{}, false
	case guard.Null:
		t.send(event.Failed{Object: t.Object, Op: event.Import, Took: time.Since(began)})
		return nil, Known{}, a.Succeeded
	case guard.Refused:
		return nil, Known{}, false
	}
	entry := &state.Entry{Provider: s.Provider}
	if !a.Record(entry) {
		return nil, Known{}, false
	}
	if ok {
		t.send(event.Done{Object: t.Object, Op: event.Import, ID: id, Took: time.Since(began)})
	}
	return entry, Known{Wire: a.Wire, Upgraded: a.Wire}, ok
}

// Existing imports and reads an object, by id or identity, and returns its value, from which the caller generates a
// configuration. The entry is dropped. If the object does not exist or cannot be read, Existing reports an error and
// returns false.
func (t *Tools) Existing(ctx context.Context, id string, identity cty.Value, s Stored) (cty.Value, bool) {
	entry, known, ok := t.Import(ctx, id, identity, s)
	if !ok {
		return cty.NilVal, false
	}
	if entry != nil {
		entry, known, ok = t.Read(ctx, entry, known)
	}
	if !ok {
		return cty.NilVal, false
	}
	if entry == nil {
		t.Add(NotFound(t.Object.Instance))
		return cty.NilVal, false
	}
	v, ok := t.Value(entry, known)
	return v.Raw, ok
}

// Objections returns the paths of the attributes for which the provider reports errors in a configuration. If the
// configuration cannot be encoded, it reports an error and returns nil.
func (t *Tools) Objections(ctx context.Context, config cty.Value) []cty.Path {
	wire, ok := encode(t, config)
	if !ok {
		return nil
	}
	var out []cty.Path
	for _, d := range t.Provider.Validate(ctx, t.Type.Mode, t.Type.Name, guard.Send(wire)) {
		if d.Severity == diag.Error && len(d.Path) > 0 {
			out = append(out, d.Path)
		}
	}
	return out
}

// Alternative is a write-only argument that a provider recommends in place of another argument.
type Alternative struct {
	Path     cty.Path // the path of the argument that the write-only argument can replace
	Argument string   // the name of the write-only argument, in the same block as the argument at Path
}

// Alternatives returns the arguments that the provider recommends to replace by write-only arguments. A provider
// reports them as warnings when it validates a configuration: the warning has the path of the argument, and the text of
// the warning names the write-only argument. If the configuration cannot be encoded, Alternatives reports an error and
// returns nil.
func (t *Tools) Alternatives(ctx context.Context, config cty.Value) []Alternative {
	wire, ok := encode(t, config)
	if !ok {
		return nil
	}
	var out []Alternative
	for _, d := range t.Provider.Validate(ctx, t.Type.Mode, t.Type.Name, guard.Send(wire)) {
		if d.Severity != diag.Warning || len(d.Path) == 0 {
			continue
		}
		for _, name := range t.Type.WriteOnlyBeside(d.Path) {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(d.Summary + " " + d.Detail) {
				out = append(out, Alternative{d.Path, name})
				break
			}
		}
	}
	return out
}

// NotFound returns the error for an import that finds no object.
func NotFound(to addr.Instance) diag.Diagnostic {
	return diag.Errorf("Cannot import non-existent remote object", "The provider found no object with the given id for %q. Check the id, and the region or endpoint of the provider. To create a new object, use `lethe apply`.", to.String()).About(to)
}
