package funcs

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

const anything = null | unknown | dynamic | marked | quick

// Functions about what is sensitive and what is ephemeral.
var markings = []*builtin{
	{
		name: "ephemeralasnull", doc: "Puts null in the place of whatever is ephemeral in a value, so that the rest of it can be kept.",
		params: []param{{name: "value", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic | marked,
			doc: "The value. A set with an ephemeral element, and a map with an ephemeral key, become null as a whole."}},
		returns: cty.DynamicPseudoType, nullable: true,
		run: func(c *call) (cty.Value, error) { return ephemeralAsNull(c.args[0]), nil },
	},
	{
		name: "issensitive", doc: "Tells whether a value is sensitive.",
		params:  []param{{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: anything}},
		returns: cty.Bool, run: isSensitive,
	},
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

// ephemeralAsNull rebuilds what has something ephemeral inside and leaves everything else alone, unknown
// values included. Nothing waits for an ephemeral value: whatever it will be, what comes out is null.
func ephemeralAsNull(v cty.Value) cty.Value {
	r, _ := nulled(v)
	return r
}

// nulled also tells whether anything was ephemeral.
func nulled(v cty.Value) (r cty.Value, any bool) {
	if mark.Is(v, mark.Ephemeral) {
		return mark.Without(mark.Same(cty.NullVal(v.Type()), v), mark.Ephemeral), true
	}
	bare, put := mark.Bare(v)
	if !bare.IsKnown() || bare.IsNull() || !bare.CanIterateElements() || bare.Type().IsSetType() {
		return v, false
	}
	if ty := bare.Type(); ty.IsObjectType() || ty.IsMapType() {
		return nulledMap(v, bare, put)
	}
	vals := ctyvalue.Elements(bare)
	for i := range vals {
		var was bool
		vals[i], was = nulled(vals[i])
		any = any || was
	}
	switch {
	case !any:
		return v, false
	case bare.Type().IsListType():
		return put(cty.ListVal(vals)), true
	}
	return put(cty.TupleVal(vals)), true
}

func nulledMap(v, bare cty.Value, put func(cty.Value) cty.Value) (r cty.Value, any bool) {
	m := make(map[string]cty.Value, bare.LengthInt())
	for it := bare.ElementIterator(); it.Next(); {
		k, e := it.Element()
		e, was := nulled(e)
		any = any || was
		m[k.AsString()] = e
	}
	switch {
	case !any:
		return v, false
	case bare.Type().IsMapType():
		return put(cty.MapVal(m)), true
	}
	return put(cty.ObjectVal(m)), true
}
