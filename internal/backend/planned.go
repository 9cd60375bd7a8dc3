package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// placeDigest returns a digest of the place of a workspace's state. It returns "" if the store cannot identify the
// place.
func placeDigest(st store.Store, workspace string) string {
	p := st.Capabilities().Place
	if p == nil {
		return ""
	}
	return string(store.Digest([]byte(p.Place(workspace))))
}

// forPlan returns the settings in the form for saved plans (Planned as JSON), without secrets.
func (s settings) forPlan() json.RawMessage {
	p := Planned{Type: s.driver.Name}
	attrs := s.recorded().AsValueMap()
	for name, v := range attrs {
		if !v.IsNull() && s.mayHoldSecret(name, v) {
			p.Withheld = append(p.Withheld, name)
			delete(attrs, name)
		}
	}
	slices.Sort(p.Withheld)
	p.Config = s.encode(attrs)
	if !s.provider.IsZero() {
		p.Provider = &pinned{Source: s.provider}
	}
	out, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot fail, because text and JSON can always be encoded
	}
	return out
}

// mayHoldSecret reports whether a setting is sensitive, or is a URL that may contain credentials.
func (s settings) mayHoldSecret(name string, v cty.Value) bool {
	found := false
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.IsNull() || !v.IsKnown() {
			return false, nil
		}
		found = found || secret(s.driver.Schema, append(cty.GetAttrPath(name), path...))
		if v.Type() == cty.String {
			text := v.AsString()
			found = found || strings.Contains(text, "://") && strings.ContainsAny(text, "?@")
		}
		return true, nil
	})
	return found
}

// planBackend is the backend of a saved plan that is being applied.
type planBackend struct {
	plan      *Planned
	directory func() *config.Module // returns the present root module of the working directory, or nil
	opener    *opener
	record    *record
	lacking   []string // the settings that the plan omits and that have no value from another source
}

// settings returns the settings of the store that the apply of a saved plan uses: the settings of the plan. Secrets
// that the plan omits come from the record of init or from the block, if that names the same place. If the state was
// moved since the plan to the backend that init has recorded, settings returns the recorded settings. If the settings
// cannot be read, it reports an error and returns false.
func (b *planBackend) settings(ctx context.Context) (settings, bool) {
	planned, ok := (&initialized{Type: b.plan.Type, Config: b.plan.Config, Provider: b.plan.Provider}).settings(b.opener.declared.stores, b.opener.env.Bag)
	if !ok {
		return settings{}, false
	}
	declared, ok := b.opener.declared.settings()
	if !ok {
		return settings{}, false
	}
	planned = planned.with(declared)
	now, set := b.record.settings()
	if now = now.with(declared); set && b.samePlace(ctx, planned, now) {
		return now, true
	}
	b.lacking = nil
	for _, name := range b.plan.Withheld {
		if planned.agrees(declared, b.plan.Withheld) {
			planned = planned.withSetting(name, declared)
		}
		if planned.config.GetAttr(name).IsNull() {
			b.lacking = append(b.lacking, name)
		}
	}
	if set && !now.same(planned) && b.plan.Lineage != "" && b.movedTo(ctx, planned, now) {
		return now, true
	}
	return planned, true
}

// samePlace reports whether the current settings, which init recorded, name the store that the plan was made with. If
// so, they can replace the plan's settings, which lack secrets.
func (b *planBackend) samePlace(ctx context.Context, planned, now settings) bool {
	if now.kind() != planned.kind() || b.plan.Place == "" {
		return false
	}
	st, err := b.opener.clients.open(ctx, now)
	return err == nil && placeDigest(st, b.opener.env.Selected()) == b.plan.Place
}

// agrees reports whether two settings are equal, apart from the settings with the given names.
func (s settings) agrees(other settings, but []string) bool {
	if s.kind() != other.kind() {
		return false
	}
	x, y := s.recorded().AsValueMap(), other.recorded().AsValueMap()
	for name, v := range x {
		if !slices.Contains(but, name) && !v.RawEquals(y[name]) {
			return false
		}
	}
	return true
}

// withSetting returns a copy of s in which one setting has the value of the same setting in the other settings.
func (s settings) withSetting(name string, from settings) settings {
	attrs := s.config.AsValueMap()
	attrs[name] = from.config.GetAttr(name)
	s.config = cty.ObjectVal(attrs)
	return s
}

// movedTo reports whether the state of the plan was moved to the store of the current settings. The state in that store
// must not be older than the state in the store of the plan.
func (b *planBackend) movedTo(ctx context.Context, planned, now settings) bool {
	existing, ok := b.peek(ctx, now)
	if !ok || existing.Lineage != b.plan.Lineage {
		return false
	}
	here, ok := b.peek(ctx, planned)
	return !ok || here.Lineage != existing.Lineage || here.Serial <= existing.Serial
}

// peek reads the state of the selected workspace, without the changes in journals. If that fails, it returns false and
// reports nothing.
func (b *planBackend) peek(ctx context.Context, s settings) (*state.Snapshot, bool) {
	st, err := b.opener.clients.open(ctx, s)
	if err != nil {
		return nil, false
	}
	st, ok := b.opener.encrypted(st)
	if !ok {
		return nil, false
	}
	return peek(ctx, st, b.opener.env.Selected())
}

// peek reads the state of a workspace, without the changes in journals. It returns false if the workspace has no
// readable state.
func peek(ctx context.Context, st store.Store, workspace string) (*state.Snapshot, bool) {
	data, v, err := st.Get(ctx, workspace)
	if err != nil || v == "" || len(data) == 0 {
		return nil, false
	}
	return state.Read(data, &diag.Bag{})
}
