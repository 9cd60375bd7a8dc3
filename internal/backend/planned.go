package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

// Place is a digest of what names the place of a workspace's state; "" where the store cannot say that.
func (o *Opened) Place(workspace string) string {
	p, ok := store.As[store.Placed](o.Store)
	if !ok {
		return ""
	}
	return string(store.Digest([]byte(p.Place(workspace))))
}

// ForPlan returns the settings of the store as saved plans hold them.
func (o *Opened) ForPlan() json.RawMessage { return o.settings.forPlan() }

func (s settings) forPlan() json.RawMessage {
	p := Planned{Type: s.driver.Name}
	attrs := s.kept().AsValueMap()
	for name, v := range attrs {
		if !v.IsNull() && s.mayHoldSecret(name, v) {
			p.Withheld = append(p.Withheld, name)
			delete(attrs, name)
		}
	}
	slices.Sort(p.Withheld)
	p.Config = s.encode(attrs)
	out, err := json.Marshal(p)
	if err != nil {
		panic(err) // text and JSON
	}
	return out
}

// mayHoldSecret reports whether a setting is secret, or is a URL with a part in which credentials are common.
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

// ofPlan returns the settings that a saved plan is applied with: those of the plan. Secrets that the plan does not hold
// come from what init has set up, or from the block, if these name the same place. If the state of the plan was moved, to
// the backend that init has set up since, it is that backend.
func (d *Directory) ofPlan(ctx context.Context) (settings, bool) {
	planned, ok := d.settingsOf(&initialized{Type: d.Planned.Type, Config: d.Planned.Config})
	if !ok {
		return settings{}, false
	}
	declared, ok := d.declared()
	if !ok {
		return settings{}, false
	}
	planned = planned.with(declared)
	now, set := d.rememberedQuietly()
	if now = now.with(declared); set && d.samePlace(ctx, planned, now) {
		return now, true
	}
	d.lacking = nil
	for _, name := range d.Planned.Withheld {
		if planned.agrees(declared, d.Planned.Withheld) {
			planned = planned.take(name, declared)
		}
		if planned.config.GetAttr(name).IsNull() {
			d.lacking = append(d.lacking, name)
		}
	}
	if set && !now.same(planned) && d.Planned.Lineage != "" && d.movedTo(ctx, planned, now) {
		return now, true
	}
	return planned, true
}

// samePlace reports whether what init has set up is the place of the plan. Then it also has what the plan does not hold.
func (d *Directory) samePlace(ctx context.Context, planned, now settings) bool {
	if now.driver.Name != planned.driver.Name || d.Planned.Place == "" {
		return false
	}
	st, err := d.bare(ctx, now)
	return err == nil && (&Opened{Store: st}).Place(d.Env.Selected()) == d.Planned.Place
}

// Lacking names the settings that a saved plan does not hold, and that nothing else has set.
func (d *Directory) Lacking() []string { return d.lacking }

// rememberedQuietly returns the settings that init has set up. Errors are not reported, because a plan does not depend on them.
func (d *Directory) rememberedQuietly() (settings, bool) {
	bag := d.Env.Bag
	defer func() { d.Env.Bag = bag }()
	d.Env.Bag = &diag.Bag{}
	was, ok := d.remembered()
	if !ok || was == nil {
		return settings{}, false
	}
	return d.settingsOf(was)
}

// agrees reports whether two settings of one kind of store are the same, apart from some of them.
func (s settings) agrees(other settings, but []string) bool {
	if s.driver.Name != other.driver.Name {
		return false
	}
	x, y := s.kept().AsValueMap(), other.kept().AsValueMap()
	for name, v := range x {
		if !slices.Contains(but, name) && !v.RawEquals(y[name]) {
			return false
		}
	}
	return true
}

// take returns the settings with one of another.
func (s settings) take(name string, from settings) settings {
	attrs := s.config.AsValueMap()
	attrs[name] = from.config.GetAttr(name)
	s.config = cty.ObjectVal(attrs)
	return s
}

// movedTo reports whether the state of the plan is in another place by now, and not behind the one in the place of the plan.
func (d *Directory) movedTo(ctx context.Context, planned, now settings) bool {
	there, ok := d.peek(ctx, now)
	if !ok || there.Lineage != d.Planned.Lineage {
		return false
	}
	here, ok := d.peek(ctx, planned)
	return !ok || here.Lineage != there.Lineage || here.Serial <= there.Serial
}

// peek reads a state if it can be read. Why it cannot is not reported.
func (d *Directory) peek(ctx context.Context, s settings) (*state.Snapshot, bool) {
	st, err := d.bare(ctx, s)
	if err != nil {
		return nil, false
	}
	var ok bool
	if st, ok = d.sealed(st); !ok {
		return nil, false
	}
	data, v, err := st.Get(ctx, d.Env.Selected())
	if err != nil || v == store.Version("") || len(data) == 0 {
		return nil, false
	}
	return state.Read(data, &diag.Bag{})
}
