package funcs

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

const anything = null | unknown | dynamic | marked | quick

// markings are the functions of sensitive and ephemeral marks.
var markings = []*builtin{
	{
		name: "ephemeralasnull", doc: "Replaces the ephemeral parts of a value with null, so that the rest can be stored.",
		params: []param{{name: "value", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic | marked,
			doc: "The value. A set with an ephemeral element, and a map with an ephemeral key, become null as a whole."}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return ephemeralAsNull(c.args[0]), nil },
	},
	fixed("issensitive", "Reports whether a value is sensitive.", cty.Bool, isSensitive,
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}),
	{
		name: "nonsensitive", doc: "Removes the sensitive mark, so that the value is shown. Use it only for values that are not secret.",
		params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return mark.Without(c.args[0], mark.Sensitive), nil },
	},
	{
		name: "sensitive", doc: "Marks a value as sensitive, so that it is not shown.",
		params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return mark.With(c.args[0], mark.Sensitive, nil), nil },
	},
}

// isSensitive reports whether a value is sensitive. The answer is unknown for an unknown value, which may turn out to
// be sensitive. For an ephemeral value, the answer is ephemeral, because it reveals a fact about the value.
func isSensitive(c *call) (cty.Value, error) {
	v := c.args[0]
	var r cty.Value
	switch {
	case mark.Is(v, mark.Sensitive):
		r = cty.True
	case !v.IsKnown():
		r = cty.UnknownVal(cty.Bool)
	default:
		r = cty.False
	}
	return stillEphemeral(r, v), nil
}

// stillEphemeral adds the ephemeral marks of v, but not its other marks, to r.
func stillEphemeral(r, v cty.Value) cty.Value {
	if !mark.Is(v, mark.Ephemeral) {
		return r
	}
	return mark.Same(r, mark.Without(v, mark.Sensitive))
}

// ephemeralAsNull returns all values that are not ephemeral unchanged, even if they are unknown. It replaces an
// ephemeral value by null even if the value is unknown, so that the result does not change when the value becomes
// known.
func ephemeralAsNull(v cty.Value) cty.Value {
	if !mark.Anywhere(v, mark.Ephemeral) {
		return v
	}
	r, _ := cty.TransformWithTransformer(v, nulling{}) // the transformer never returns an error
	return r
}

// nulling replaces ephemeral values by null.
type nulling struct{}

func (nulling) Enter(_ cty.Path, v cty.Value) (cty.Value, error) {
	if !mark.Is(v, mark.Ephemeral) {
		return v, nil
	}
	return mark.Without(mark.Same(cty.NullVal(v.Type()), v), mark.Ephemeral), nil
}

func (nulling) Exit(_ cty.Path, v cty.Value) (cty.Value, error) { return v, nil }
