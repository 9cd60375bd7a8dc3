package querying

import (
	"context"
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

// The values. NotCompared means that the request has no states to compare with.
const (
	NotCompared Management = iota
	Unmanaged              // no state has the object
	Unsure                 // an object of the type in a state has neither an identity nor an id to compare
	IsManaged              // a state has the object
)

// String returns the word for the JSON output.
func (m Management) String() string { return [...]string{"", "unmanaged", "unknown", "managed"}[m] }

// managed compares results with the objects of states.
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
	identities map[string]bool // whole identities, as JSON
	whole      []cty.Value     // the identities in the map identities, as values
	partial    []cty.Value     // identities with null attributes
	ids        map[string]bool // of objects without an identity
	blind      bool            // an object has neither an identity nor an id

	mu      sync.Mutex
	reduced map[string]map[string]bool // whole identities without some attributes, as JSON, by the names of these attributes
}

func newManaged(r *run.Run, states []*state.Snapshot) *managed {
	return &managed{run: r, states: states, by: map[typeName]*stored{}}
}

func (m *managed) stored(p addr.Provider, name string) *stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := typeName{p.Canon(), name}
	if m.by[k] == nil {
		m.by[k] = &stored{identities: map[string]bool{}, ids: map[string]bool{}, reduced: map[string]map[string]bool{}}
	}
	return m.by[k]
}

// read reads the identities of the stored objects of a search's type, once for each type. It returns false after an
// interrupt.
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

// identified returns a state entry that has an identity in the current form of the schema. If the entry has none,
// identified refreshes the object. It returns the entry unchanged if that fails: the provider configuration of the
// search may not find the object.
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
	case identity != cty.NilVal && !identity.IsNull() && hasNull(identity):
		x.partial = append(x.partial, identity)
	case identity != cty.NilVal && !identity.IsNull():
		x.identities[string(plainJSON(identity))] = true
		x.whole = append(x.whole, identity)
	case e.ID() != "":
		x.ids[e.ID()] = true
	default:
		x.blind = true
	}
}

func hasNull(identity cty.Value) bool {
	for _, v := range identity.AsValueMap() {
		if v.IsNull() {
			return true
		}
	}
	return false
}

// of compares a found object with the stored objects of its type.
func (m *managed) of(t *object.Type, u declared.Use, found object.Listed) Management {
	x := m.stored(u.Instance.Provider, t.Name)
	id := idOf(found)
	switch {
	case x.matchesWhole(found.Identity) || x.ids[id]:
		return IsManaged
	case x.matchesPartial(found.Identity):
		return IsManaged
	case x.blind || len(x.ids) > 0 && id == "":
		return Unsure
	}
	return Unmanaged
}

// matchesWhole reports whether a stored identity without null attributes matches identity. A null attribute of identity
// matches any value. For each set of null attributes, matchesWhole makes an index, so that each further comparison is
// one look-up.
func (x *stored) matchesWhole(identity cty.Value) bool {
	key := plainJSON(identity)
	if !hasNull(identity) {
		return x.identities[string(key)]
	}
	missing := ""
	for it := identity.ElementIterator(); it.Next(); {
		if name, v := it.Element(); v.IsNull() {
			missing += " " + name.AsString()
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reduced[missing] == nil {
		index := map[string]bool{}
		for _, was := range x.whole {
			index[string(plainJSON(reduced(was, identity)))] = true
		}
		x.reduced[missing] = index
	}
	return x.reduced[missing][string(key)]
}

// reduced returns identity with null for each attribute that is null in other.
func reduced(identity, other cty.Value) cty.Value {
	attrs := identity.AsValueMap()
	for name, v := range other.AsValueMap() {
		if v.IsNull() {
			attrs[name] = v
		}
	}
	return cty.ObjectVal(attrs)
}

// matchesPartial reports whether a stored identity with null attributes matches identity. A null attribute of either
// matches any value.
func (x *stored) matchesPartial(identity cty.Value) bool {
	for _, was := range x.partial {
		same := true
		for name, v := range was.AsValueMap() {
			now := identity.GetAttr(name)
			same = same && (v.IsNull() || now.IsNull() || now.RawEquals(v))
		}
		if same {
			return true
		}
	}
	return false
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
