package querying

import (
	"context"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Management is the result of the comparison of a found object with the states in the request.
type Management uint8

// The values. NotCompared means that the request has no states with which to compare.
const (
	NotCompared Management = iota
	Unmanaged              // no state has the object
	Unsure                 // not known: a stored object of the type has neither an identity nor an id, or has only an id and the found object has none
	IsManaged              // a state has the object
)

// String returns the word for the JSON output; "" for NotCompared.
func (m Management) String() string { return [...]string{"", "unmanaged", "unknown", "managed"}[m] }

// managed compares the results of searches with the objects of the states in the request.
type managed struct {
	run    *run.Run
	states []*state.Snapshot

	mu sync.Mutex
	by map[typeName]*stored
}

// typeName is a resource type of one provider.
type typeName struct {
	provider addr.Provider
	name     string
}

// stored are the objects of one type in the states.
type stored struct {
	once       sync.Once
	identities map[string]*alike // stored identities, grouped by the names of their null attributes
	ids        map[string]bool   // the id attributes of objects without an identity
	blind      bool              // an object has neither an identity nor an id
}

// alike are stored identities with the same null attributes. A null attribute of a stored or a found identity matches
// any value, because a provider may send optional attributes in only one of its answers.
type alike struct {
	all []cty.Value

	mu      sync.Mutex
	reduced map[string]map[string]bool // by names of attributes: the identities with null for these attributes, as JSON
}

func newManaged(r *run.Run, states []*state.Snapshot) *managed {
	return &managed{run: r, states: states, by: map[typeName]*stored{}}
}

func (m *managed) stored(p addr.Provider, name string) *stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := typeName{p.Canon(), name}
	if m.by[k] == nil {
		m.by[k] = &stored{identities: map[string]*alike{}, ids: map[string]bool{}}
	}
	return m.by[k]
}

// read reads the identities of all stored objects of the type t.Type of the provider p, once for each type. It returns
// false after an interrupt.
func (m *managed) read(ctx context.Context, p addr.Provider, t *object.Tools) bool {
	x := m.stored(p, t.Type.Name)
	x.once.Do(func() {
		for _, snapshot := range m.states {
			for _, res := range snapshot.Resources() {
				if res.Addr.Mode != addr.Managed || res.Addr.Type != t.Type.Name {
					continue
				}
				for o, e := range res.Objects() {
					if e.Provider.Provider.Canon() == p.Canon() && m.run.Budget.Stop().Err() == nil {
						x.add(t.Type, m.identified(ctx, t, o, e))
					}
				}
			}
		}
	})
	return m.run.Budget.Stop().Err() == nil
}

// identified returns the state entry e of the object o with an identity in the current identity schema. If e has no
// such identity, identified refreshes the object. If the refresh fails, identified returns e unchanged and reports no
// error: the provider configuration of the search may not find the object.
func (m *managed) identified(ctx context.Context, t *object.Tools, o addr.Object, e *state.Entry) *state.Entry {
	if e.Identity != nil && t.Type.Identity != nil && e.IdentitySchema == t.Type.Identity.Version {
		return e
	}
	quiet := &object.Tools{
		Object: o, Provider: t.Provider, Type: t.Type, Bag: &diag.Bag{},
		Walk: &object.Walk{Token: t.Walk.Token, Guard: t.Walk.Guard.Apart()},
	}
	current, known, ok := quiet.Upgrade(ctx, e)
	if ok && current.Identity == nil {
		current, _, ok = quiet.Read(ctx, current, known)
	}
	if !ok || current == nil {
		return e
	}
	return current
}

func (x *stored) add(t *object.Type, e *state.Entry) {
	identity := t.StoredIdentity(e)
	switch {
	case identity != cty.NilVal && !identity.IsNull() && len(nulls(identity)) < identity.LengthInt():
		key := strings.Join(nulls(identity), " ")
		if x.identities[key] == nil {
			x.identities[key] = &alike{reduced: map[string]map[string]bool{}}
		}
		x.identities[key].all = append(x.identities[key].all, identity)
	case e.ID() != "":
		x.ids[e.ID()] = true
	default:
		x.blind = true
	}
}

// nulls returns the names of the null attributes of an identity, sorted.
func nulls(identity cty.Value) []string {
	var out []string
	for it := identity.ElementIterator(); it.Next(); {
		if name, v := it.Element(); v.IsNull() {
			out = append(out, name.AsString())
		}
	}
	return out
}

// of compares the found object with the stored objects of its type, and returns the result.
func (m *managed) of(t *object.Type, u declared.Use, found object.Listed) Management {
	x := m.stored(u.Instance.Provider, t.Name)
	id := idOf(found)
	switch {
	case x.ids[id] || x.matches(found.Identity):
		return IsManaged
	case x.blind || len(x.ids) > 0 && id == "":
		return Unsure
	}
	return Unmanaged
}

// matches reports whether one of the stored identities matches the found identity.
func (x *stored) matches(identity cty.Value) bool {
	for _, group := range x.identities {
		if group.matches(identity) {
			return true
		}
	}
	return false
}

// matches reports whether an identity of the group g matches the found identity. A null attribute matches any value.
// For each set of null attributes in found identities, matches makes an index, so that each further comparison is one
// look-up.
func (g *alike) matches(identity cty.Value) bool {
	missing := strings.Join(nulls(identity), " ")
	g.mu.Lock()
	index := g.reduced[missing]
	if index == nil {
		index = map[string]bool{}
		for _, was := range g.all {
			if was = reduced(was, identity); len(nulls(was)) < was.LengthInt() {
				index[string(plainJSON(was))] = true
			}
		}
		g.reduced[missing] = index
	}
	g.mu.Unlock()
	return index[string(plainJSON(reduced(identity, g.all[0])))]
}

// reduced returns identity with null for each attribute that is null in other.
func reduced(identity, other cty.Value) cty.Value {
	without := nulls(other)
	if len(without) == 0 {
		return identity
	}
	attrs := identity.AsValueMap()
	for _, name := range without {
		attrs[name] = cty.NullVal(attrs[name].Type())
	}
	return cty.ObjectVal(attrs)
}

// idOf returns the attribute id of a result's identity, or else of its object. It returns "" if both lack the
// attribute.
func idOf(found object.Listed) string {
	for _, v := range []cty.Value{found.Identity, found.Object} {
		if v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute("id") {
			continue
		}
		if id := v.GetAttr("id"); !id.IsNull() && id.Type() == cty.String {
			return id.AsString()
		}
	}
	return ""
}
