package funcs

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

const anything = null | unknown | dynamic | marked | quick

// Functions about what is sensitive and what is ephemeral.
var markings = []*builtin{
	{
		name: "ephemeralasnull", doc: "Puts null in the place of everything that is ephemeral in a value, so that the rest of it can be kept.",
		params: []param{{name: "value", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic | marked,
			doc: "The value. A set with an ephemeral element, and a map with an ephemeral key, become null as a whole."}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return ephemeralAsNull(c.args[0]), nil },
	},
	fixed("issensitive", "Tells whether a value is sensitive.", cty.Bool, isSensitive,
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}),
	{
		name: "nonsensitive", doc: "Makes a sensitive value one that is shown. Whether that is wise is for the caller to know.",
		params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return mark.Without(c.args[0], mark.Sensitive), nil },
	},
	{
		name: "sensitive", doc: "Makes a value sensitive, so that it is not shown on the screen.",
		params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return mark.With(c.args[0], mark.Sensitive, nil), nil },
	},
}

// isSensitive is unknown for an unknown value, which may turn out to be sensitive. The answer is as
// ephemeral as the value: it says something about it.
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

// stillEphemeral gives r the ephemeral marks that v itself has, but not what else v is marked with.
func stillEphemeral(r, v cty.Value) cty.Value {
	if !mark.Is(v, mark.Ephemeral) {
		return r
	}
	return mark.Same(r, mark.Without(v, mark.Sensitive))
}

// ephemeralAsNull leaves everything alone that is not ephemeral, unknown values included. Nothing waits for an ephemeral
// value: what comes out is null, once it is known and before.
func ephemeralAsNull(v cty.Value) cty.Value {
	if !mark.Anywhere(v, mark.Ephemeral) {
		return v
	}
	r, _ := cty.TransformWithTransformer(v, nulling{}) // which never fails
	return r
}

// nulling puts null in the place of what is ephemeral.
type nulling struct{}

func (nulling) Enter(_ cty.Path, v cty.Value) (cty.Value, error) {
	if !mark.Is(v, mark.Ephemeral) {
		return v, nil
	}
	return mark.Without(mark.Same(cty.NullVal(v.Type()), v), mark.Ephemeral), nil
}

func (nulling) Exit(_ cty.Path, v cty.Value) (cty.Value, error) { return v, nil }
