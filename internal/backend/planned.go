package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Planned is the backend that a saved plan was made with. Apply uses it, whatever init has set up since.
type Planned struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	// Withheld names the settings that are secret, or may contain a secret: a plan does not hold them.
	Withheld []string `json:"withheld,omitempty"`

	Lineage string `json:"-"` // of the state that the plan was made from
	Place   string `json:"-"` // see Opened.Place
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

// encode writes settings as JSON, without those that are null: other programs refuse the names of settings that
// they do not have, even if the value is null.
func (s settings) encode(attrs map[string]cty.Value) json.RawMessage {
	out := map[string]any{}
	for name, v := range attrs {
		if v.IsNull() {
			continue
		}
		text, err := ctyjson.Marshal(v, s.driver.Schema.Type().AttributeType(name))
		if err != nil {
			panic(err) // it is known
		}
		out[name] = dropNulls(decoded(text))
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

// decoded reads JSON with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// dropNulls removes the members of objects that are null.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if v[name] = dropNulls(x); x == nil {
				delete(v, name)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = dropNulls(x)
		}
	}
	return v
}

// decodeSettings reads settings of a schema from JSON. Names that the schema does not have are ignored if their value is
// null: another program wrote them.
func decodeSettings(text []byte, ty cty.Type) (cty.Value, error) {
	clean, err := json.Marshal(dropNulls(decoded(text)))
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(clean, ty)
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

// rememberedQuietly returns what init has set up, without a word about what cannot be read: a plan does not depend on it.
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
