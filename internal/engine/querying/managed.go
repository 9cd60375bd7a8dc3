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

// Management is the relation of a result to the states of the request.
type Management uint8

// The relations. The zero value means that the query does not compare.
const (
	NotCompared Management = iota
	Unmanaged              // no state has the object
	Unsure                 // an object in a state has neither an identity nor an id to compare
	IsManaged              // a state has the object
)

// String returns the word of the JSON output.
func (m Management) String() string { return [...]string{"", "unmanaged", "unknown", "managed"}[m] }

// managed compares results with the objects of states.
type managed struct {
	run    *run.Run
	states []*state.Snapshot

	mu sync.Mutex
	by map[typeName]*stored
}

// typeName is a type of one provider.
type typeName struct {
	provider addr.Provider
	name     string
}

// stored are the objects of one type in the states.
type stored struct {
	once       sync.Once
	identities map[string]bool // whole identities, as JSON
	whole      []cty.Value     // the same
	partial    []cty.Value     // identities with null attributes
	ids        map[string]bool // of objects without an identity
	blind      bool            // an object has neither

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

// read reads the identities of the stored objects of a search's type. It returns false after an interrupt.
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

// identified returns an entry with the identity in its current form. If the entry has none, the object is refreshed.
// The search's provider configuration may not find the object: then it returns the entry unchanged.
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

// of compares a result with the stored objects of its type.
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

// matchesWhole reports whether a whole stored identity has no attribute that differs. Null attributes match anything.
// The first result with other null attributes than before makes an index, so that each result needs one look-up.
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

// reduced returns an identity with null for the attributes that are null in another.
func reduced(identity, other cty.Value) cty.Value {
	attrs := identity.AsValueMap()
	for name, v := range other.AsValueMap() {
		if v.IsNull() {
			attrs[name] = v
		}
	}
	return cty.ObjectVal(attrs)
}

// matchesPartial reports whether a stored identity has no attribute that differs. Null attributes match anything.
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

// idOf returns the attribute id of the identity or of the object of a result, "" if both lack it.
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
