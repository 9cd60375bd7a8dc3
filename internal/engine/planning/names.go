package planning

import (
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// name is a name of an object for its provider: its id, or the JSON of its identity.
type name struct {
	id       string
	identity string
}

// namesOf returns the names of the object of an entry.
func namesOf(e *state.Entry) (out []name) {
	if id := e.ID(); id != "" {
		out = append(out, name{id: id})
	}
	if identity := identityOf(e); identity != "" {
		out = append(out, name{identity: identity})
	}
	return out
}

// identityOf returns the identity of an entry as JSON with sorted attributes, or "" if it has none.
func identityOf(e *state.Entry) string {
	var identity any
	if e == nil || e.Identity == nil || json.Unmarshal(e.Identity, &identity) != nil {
		return ""
	}
	return textOf(identity)
}

// isIn reports whether an import with this id or identity names the object with the name n. An identity may lack the
// optional attributes of n. An id is in an identity if one of its attributes has this value.
func (n name) isIn(id string, identity cty.Value) bool {
	if identity == cty.NilVal || identity.IsNull() || !identity.Type().IsObjectType() {
		return n.id != "" && n.id == id
	}
	var attrs map[string]any
	_ = json.Unmarshal([]byte(n.identity), &attrs)
	id = textOf(n.id)
	set := 0
	for name, v := range identity.AsValueMap() {
		if v.IsNull() || !v.IsKnown() {
			continue
		}
		set++
		text, err := ctyjson.Marshal(v, v.Type())
		switch stored := textOf(attrs[name]); {
		case n.id == "" && (err != nil || stored != string(text)):
			return false
		case n.id != "" && err == nil && string(text) == id:
			return true
		}
	}
	return n.id == "" && set > 0
}

// textOf returns a value as JSON.
func textOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
