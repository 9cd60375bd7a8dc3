package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/zclconf/go-cty/cty"
)

var variableSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "type"}, {Name: "default"}, {Name: "nullable"}, {Name: "sensitive"},
		{Name: "ephemeral"}, {Name: "const"}, {Name: "deprecated"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "validation"}},
}

// reserved holds the names of meta-arguments of module blocks. A variable must not have such a name, because no module
// block could set it.
var reserved = map[string]bool{
	"source": true, "version": true, "providers": true, "count": true,
	"for_each": true, "lifecycle": true, "depends_on": true, "locals": true, "provider": true,
}

func (l *loader) variable(b *hcl.Block) {
	v := &Variable{Name: b.Labels[0], Type: cty.DynamicPseudoType, Nullable: true, Default: cty.NilVal, Range: place(b)}
	if !l.name(b, 0, "Invalid variable name") {
		return
	}
	if reserved[v.Name] {
		l.mod.unreadable = true
		l.rd.error(b.LabelRanges[0], "Invalid variable name", "The variable name %q is reserved due to its special meaning inside module blocks. Choose another name.", v.Name)
		return
	}
	if !l.first("variable", v.Range, "Duplicate variable declaration", "A variable named %q was already declared at %s. Variable names must be unique within a module: rename or remove one of them.", v.Name) {
		return
	}
	l.mod.Variables[v.Name] = v
	c, _ := l.rd.content(b.Body, variableSchema)
	l.rd.text(c.Attributes["description"], &v.Description)
	l.rd.boolean(c.Attributes["nullable"], &v.Nullable)
	l.rd.boolean(c.Attributes["sensitive"], &v.Sensitive)
	l.rd.boolean(c.Attributes["ephemeral"], &v.Ephemeral)
	l.rd.boolean(c.Attributes["const"], &v.Const)
	l.rd.deprecation(c.Attributes["deprecated"], &v.Deprecated)
	typeOK := l.variableType(v, c.Attributes["type"])
	l.variableDefault(v, c.Attributes["default"], c.Attributes["type"], typeOK)
	for _, inner := range c.Blocks {
		l.validation(v, inner)
	}
}

func (rd *reader) deprecation(a *hcl.Attribute, message *string) {
	if rd.text(a, message) && *message == "" {
		rd.error(a.Expr.Range(), "Invalid deprecation message", "The argument \"deprecated\" must not be empty: it is the text of the warning. Name the replacement.")
	}
}

// variableType reads the type constraint a. It reports an error and returns false if the constraint is invalid. If a is
// nil, the variable has no constraint, and the result is true.
func (l *loader) variableType(v *Variable, a *hcl.Attribute) bool {
	if a == nil {
		return true
	}
	v.TypeGiven = true
	var ok bool
	v.Type, v.Defaults, ok = l.rd.typeConstraint(a.Expr)
	return ok
}

// typeConstraint reads a type expression. The words list and map without an element type mean collections whose
// elements have any one type. If the expression is invalid, typeConstraint reports an error and returns the dynamic
// type and false. The Defaults are nil if the type has no optional attributes with defaults.
func (rd *reader) typeConstraint(e hcl.Expression) (cty.Type, *Defaults, bool) {
	if text, quoted := plainText(e); quoted && !rd.quotedType(e, text) {
		return cty.DynamicPseudoType, nil, false
	}
	n, ok := rd.typeTree(e)
	if !ok {
		return cty.DynamicPseudoType, nil, false
	}
	switch hcl.ExprAsKeyword(n) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil, true
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil, true
	}
	t, defaults, ds := typeexpr.TypeConstraintWithDefaults(n)
	if ds.HasErrors() {
		rd.hcl(withTypeNames(n, ds))
		return cty.DynamicPseudoType, nil, false
	}
	return t, defaults, true
}

// quotedType reports a type constraint in quotes in native syntax, suggests the correct form, and returns false. For
// JSON it reports nothing and returns true.
func (rd *reader) quotedType(e hcl.Expression, text string) bool {
	if json.IsJSONExpression(e) {
		return true
	}
	const title = "Invalid quoted type constraints"
	switch text {
	case "string":
		rd.error(e.Range(), title, "Type constraints are written without quotes. Remove the quotes around \"string\".")
	case "list":
		rd.error(e.Range(), title, "Type constraints are written without quotes. Replace \"list\" by list(string).")
	case "map":
		rd.error(e.Range(), title, "Type constraints are written without quotes. Replace \"map\" by map(string).")
	default:
		rd.error(e.Range(), "Invalid legacy variable type hint", "Type constraints are written without quotes. Remove the quotes.")
	}
	return false
}

// validation reads a validation block. If the condition does not refer to the variable, validation reports an error.
func (l *loader) validation(v *Variable, b *hcl.Block) {
	cond, ok := l.rd.condition(b)
	if !ok {
		return
	}
	if !mentions(cond.Condition, v.Name) {
		l.rd.error(cond.Condition.Range(), "Invalid variable validation condition", "The condition for variable %q must refer to var.%s in order to test incoming values.", v.Name, v.Name)
		return
	}
	v.Validations = append(v.Validations, cond)
}

// variableDefault evaluates the default value and converts it to the variable's type, except if the type is invalid
// (typeOK is false). a and typ are the arguments default and type, or nil. It reports an error if the default is null
// and the variable is not nullable. After any other error in the default, it sets an unknown value of the variable's
// type.
func (l *loader) variableDefault(v *Variable, a, typ *hcl.Attribute, typeOK bool) {
	if a == nil {
		return
	}
	v.DefaultRange = a.Expr.Range()
	val, ok := l.rd.constant(a.Expr)
	if !ok {
		v.Default = cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep())
		return
	}
	v.Default = val
	if !typeOK {
		return
	}
	if val.IsNull() {
		if !v.Nullable {
			l.rd.error(v.DefaultRange, "Invalid default value for variable", "A null default value is not valid when nullable=false. Set another default, or remove one of the two arguments.")
		}
		v.Default = cty.NullVal(v.Type.WithoutOptionalAttributesDeep())
		return
	}
	if v.Defaults != nil {
		val = v.Defaults.Apply(val)
	}
	converted, err := convert.To(val, v.Type)
	if err != nil {
		at := v.DefaultRange
		if v.Ephemeral || v.Sensitive {
			at = v.Range // the place of the error is the block, because a snippet would show the sensitive or ephemeral value
		}
		if typ != nil && typ.Range.Filename != at.Filename { // default and type are in different files: one of them is in an override file
			l.rd.again(at, typ.Range, "Invalid default value for variable", "This default value is not compatible with the variable's type constraint, and an override file sets one of the two: %s.", conversion(err))
		} else {
			l.rd.error(at, "Invalid default value for variable", "This default value is not compatible with the variable's type constraint: %s.", conversion(err))
		}
		v.Default = cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep())
		return
	}
	v.Default = converted
}
