package funcs

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

const anything = null | unknown | dynamic | marked | quick

// markings has the functions about sensitive and ephemeral marks.
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

// isSensitive reports whether a value is sensitive. For an unknown value without the mark, the result is unknown,
// because the value may be sensitive when it is known. For an ephemeral value, the result is ephemeral, because it
// reveals something about the value.
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

// stillEphemeral returns r with the ephemeral marks of v itself, but not its other marks.
func stillEphemeral(r, v cty.Value) cty.Value {
	if !mark.Is(v, mark.Ephemeral) {
		return r
	}
	return mark.Same(r, mark.Without(v, mark.Sensitive))
}

// ephemeralAsNull returns v with null in place of each ephemeral value in it. It returns all other values in it
// unchanged, even if they are unknown. An ephemeral value becomes null even if it is unknown, so that the result does
// not change when the value becomes known.
func ephemeralAsNull(v cty.Value) cty.Value {
	if !mark.Anywhere(v, mark.Ephemeral) {
		return v
	}
	r, _ := cty.TransformWithTransformer(v, nulling{}) // cannot fail, because nulling never returns an error
	return r
}

// nulling is a transformer of cty that replaces ephemeral values by null.
type nulling struct{}

func (nulling) Enter(_ cty.Path, v cty.Value) (cty.Value, error) {
	if !mark.Is(v, mark.Ephemeral) {
		return v, nil
	}
	return mark.Without(mark.Same(cty.NullVal(v.Type()), v), mark.Ephemeral), nil
}

func (nulling) Exit(_ cty.Path, v cty.Value) (cty.Value, error) { return v, nil }
