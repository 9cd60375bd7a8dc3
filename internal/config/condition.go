package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/config/native"
)

var conditionSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "condition", Required: true},
	{Name: "error_message", Required: true},
}}

// condition reads a precondition, postcondition, validation or assert block. If the condition refers to no object, or
// the block is invalid, condition reports an error and returns false.
func (rd *reader) condition(b *hcl.Block) (*Condition, bool) {
	cond, ok := rd.anyCondition(b)
	if ok && len(cond.Condition.Variables()) == 0 {
		rd.error(cond.Condition.Range(), "Invalid "+b.Type+" expression", "The condition expression checks nothing, because it refers to no object. Refer to at least one object from elsewhere in the configuration.")
		return nil, false
	}
	return cond, ok
}

// anyCondition reads a condition block like condition, but accepts a condition that refers to no object. It reports
// errors, and returns false if the block is invalid.
func (rd *reader) anyCondition(b *hcl.Block) (*Condition, bool) {
	c, ok := rd.content(b.Body, conditionSchema)
	if !ok {
		return nil, false
	}
	test, ds := native.Expression(c.Attributes["condition"].Expr)
	if !rd.hcl(ds) {
		return nil, false
	}
	return &Condition{Condition: test, Message: c.Attributes["error_message"].Expr, Range: b.DefRange}, true
}

// mentions reports whether an expression refers to the variable with the given name.
func mentions(e hcl.Expression, name string) bool {
	for _, t := range e.Variables() {
		if t.RootName() != "var" || len(t) < 2 {
			continue
		}
		if a, ok := t[1].(hcl.TraverseAttr); ok && a.Name == name {
			return true
		}
		if ix, ok := t[1].(hcl.TraverseIndex); ok && ix.Key.Type().FriendlyName() == "string" && ix.Key.AsString() == name {
			return true
		}
	}
	return false
}
