package funcs

import (
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"
	"strconv"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Functions that convert on demand. Marks stay where they are: on elements, if they were on elements.
var casts = []*builtin{
	cast("tobool", "Makes a truth value from true, false, or their names as strings.", cty.Bool),
	cast("tolist", "Makes a list from a tuple or set. The elements get one type.", anyList),
	cast("tomap", "Makes a map from an object. The elements get one type.", cty.Map(cty.DynamicPseudoType)),
	cast("tonumber", "Makes a number from a string of decimal digits.", cty.Number),
	cast("toset", "Makes a set from a list or tuple. The elements get one type, and of equal ones one stays.", anySet),
	cast("tostring", "Makes a string from a number or a truth value.", cty.String),
	{
		name: "convert", doc: "Makes a value conform to a type constraint, optional attributes and their defaults included.",
		params: []param{
			{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic | marked},
			{name: "type", typ: constraintType, doc: "The type constraint, as it would be written for a variable."},
		},
		returns: cty.DynamicPseudoType, nullable: true, run: convertTo,
	},
}

func cast(name, doc string, want cty.Type) *builtin {
	return &builtin{
		name: name, doc: doc,
		params:  []param{{name: "v", typ: cty.DynamicPseudoType, doc: "The value. Null stays null.", mode: null | unknown | dynamic | marked}},
		returns: want, nullable: true,
		run: func(c *call) (cty.Value, error) { return castTo(c, want) },
	}
}

func castTo(c *call, want cty.Type) (cty.Value, error) {
	v := c.args[0]
	if r, err := convert.To(v, want); err == nil {
		return r, nil
	}
	return cty.NilVal, bad(0, "%s", c.castProblem(v, want))
}

// castProblem says what does not fit. A string is shown, so that its mistake can be seen.
func (c *call) castProblem(v cty.Value, want cty.Type) string {
	to := want.FriendlyNameForConstraint()
	if v.Type() != cty.String || !v.IsKnown() || !want.IsPrimitiveType() {
		return fmt.Sprintf("cannot convert %s to %s", v.Type().FriendlyName(), to)
	}
	if s := c.secret(0); s != "" {
		return fmt.Sprintf("cannot convert this %s string to %s", s, to)
	}
	bare, _ := mark.Bare(v)
	text := short(bare.AsString(), 200)
	switch {
	case len(bare.AsString()) > convert.MaxDigits:
		return convert.ErrManyDigits.Error()
	case want == cty.Bool:
		return fmt.Sprintf(`cannot convert %s to bool; only the strings "true" or "false" are allowed`, strconv.Quote(text))
	}
	if n, err := cty.ParseNumberVal(bare.AsString()); err == nil {
		return convert.Writable(n).Error() // it is a number, and there is no other reason
	}
	return fmt.Sprintf("cannot convert %s to number; given string must be a decimal representation of a number", strconv.Quote(text))
}

// convertTo applies defaults first, as for a variable.
func convertTo(c *call) (cty.Value, error) {
	v := c.args[0]
	want := c.args[1].EncapsulatedValue().(*constraint)
	if want.defaults != nil && !v.IsNull() {
		v = want.defaults.Apply(v)
	}
	r, err := convert.To(v, want.typ)
	return r, c.badBecause(0, err)
}
