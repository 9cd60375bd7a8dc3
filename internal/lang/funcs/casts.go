package funcs

import (
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"
	"strconv"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// casts has the functions that convert a value. Marks keep their position: the mark of an element stays on the element.
var casts = []*builtin{
	cast("tobool", "Converts true, false, or their names as strings to bool.", cty.Bool),
	cast("tolist", "Converts a tuple or set to a list. All elements get the same type.", anyList),
	cast("tomap", "Converts an object to a map. All elements get the same type.", cty.Map(cty.DynamicPseudoType)),
	cast("tonumber", "Converts a string of decimal digits to a number.", cty.Number),
	cast("toset", "Converts a list or tuple to a set. All elements get the same type, and duplicates are removed.", anySet),
	cast("tostring", "Converts a number or a bool to a string.", cty.String),
	{
		name: "convert", doc: "Converts a value to a type constraint, with its optional attributes and defaults.",
		params: []param{
			{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic | marked},
			{name: "type", typ: constraintType, doc: "The type constraint, written as in a variable block."},
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

// castProblem returns the reason why v cannot be converted. It quotes a string unless the string is secret.
func (c *call) castProblem(v cty.Value, want cty.Type) string {
	to := want.FriendlyNameForConstraint()
	if v.Type() != cty.String || !v.IsKnown() || !want.IsPrimitiveType() {
		return fmt.Sprintf("cannot convert %s to %s", v.Type().FriendlyName(), to)
	}
	if s := c.secret(0); s != "" {
		return fmt.Sprintf("cannot convert this %s string to %s", s, to)
	}
	unmarked, _ := mark.Unmark(v)
	text := short(unmarked.AsString(), 200)
	switch {
	case len(unmarked.AsString()) > convert.MaxDigits:
		return convert.ErrManyDigits.Error()
	case want == cty.Bool:
		return fmt.Sprintf(`cannot convert %s to bool; only the strings "true" or "false" are allowed`, strconv.Quote(text))
	}
	if n, err := cty.ParseNumberVal(unmarked.AsString()); err == nil {
		return convert.Writable(n).Error() // the string is a number, so it must be too long
	}
	return fmt.Sprintf("cannot convert %s to number; given string must be a decimal representation of a number", strconv.Quote(text))
}

// convertTo converts a value to a type constraint. It first applies the defaults of the constraint, as for the value of
// a variable.
func convertTo(c *call) (cty.Value, error) {
	v := c.args[0]
	want := c.args[1].EncapsulatedValue().(*constraint)
	if want.defaults != nil && !v.IsNull() {
		v = want.defaults.Apply(v)
	}
	r, err := convert.To(v, want.typ)
	return r, c.badBecause(0, err)
}
