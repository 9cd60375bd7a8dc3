package querying

import (
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// values collects the results of a list block to which other blocks refer.
type values struct {
	list  []cty.Value
	marks []mark.At
}

func (v *values) add(t *object.Type, found object.Listed) {
	at := cty.GetAttrPath(program.ListData).IndexInt(len(v.list)).GetAttr("state")
	for _, p := range t.SensitivePaths(found.Object) {
		v.marks = append(v.marks, mark.At{Path: append(at.Copy(), p...), Tag: mark.Sensitive})
	}
	v.list = append(v.list, cty.ObjectVal(map[string]cty.Value{
		"display_name": cty.StringVal(found.Name), "identity": found.Identity, "state": found.Object,
	}))
}

func (v *values) value() mark.Value {
	return mark.Value{Raw: cty.ObjectVal(map[string]cty.Value{program.ListData: cty.TupleVal(v.list)}), Marks: v.marks}
}

// plainJSON returns a known value as JSON, or nil if the value cannot be encoded.
func plainJSON(v cty.Value) []byte {
	out, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return nil
	}
	return out
}

// objectJSON returns an object as JSON, with null for the attributes that the schema calls sensitive. It returns nil
// for a null object.
func objectJSON(t *object.Type, v cty.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return plainJSON(without(v, t.SensitivePaths(v)))
}

// jsonOf returns the arguments that a configuration sets, as JSON, with null for sensitive and ephemeral values. It
// returns nil if no argument is set.
func jsonOf(v mark.Value) []byte {
	var hidden []cty.Path
	for _, m := range v.Marks {
		hidden = append(hidden, m.Path)
	}
	raw, set := without(v.Raw, hidden), map[string]cty.Value{}
	for name, a := range raw.AsValueMap() {
		if !v.Raw.GetAttr(name).IsNull() && !(a.CanIterateElements() && a.LengthInt() == 0) {
			set[name] = a
		}
	}
	if len(set) == 0 {
		return nil
	}
	return plainJSON(cty.ObjectVal(set))
}

// without returns a value with null at the given paths.
func without(v cty.Value, paths []cty.Path) cty.Value {
	if len(paths) == 0 {
		return v
	}
	set := cty.NewPathSet(paths...)
	out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
		if set.Has(p) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return cty.NullVal(v.Type())
	}
	return out
}
