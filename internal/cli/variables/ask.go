package variables

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/zclconf/go-cty/cty"
)

// AskAll asks for the required variables that no source sets. It returns false if the user does not answer. If the
// command may not ask, such a variable stays without a value, and the first use of the variable reports the error.
func (v *Values) AskAll() bool {
	all := v.root.Variables
	for _, name := range names(all) {
		if _, set := v.Given[name]; set || !Required(all[name]) || !v.dir.MayAsk() {
			continue
		}
		if !v.Ask(all[name]) {
			return false
		}
	}
	return true
}

// LeaveUnset gives required variables that no source sets an unknown value of their type.
func (v *Values) LeaveUnset() {
	for name, of := range v.root.Variables {
		if _, set := v.Given[name]; !set && Required(of) {
			v.Given[name] = frame.Given{Value: cty.UnknownVal(of.Type), From: "nowhere"}
		}
	}
}

// Ask asks for the value of a root variable, and stores the answer in Given. It returns false if the user does not
// answer.
func (v *Values) Ask(of *config.Variable) bool {
	title := "var." + of.Name
	if of.Ephemeral {
		title += " (ephemeral)"
	}
	text, ok := v.dir.Call.UI.Ask(base.Question{Title: title, Note: of.Description, Secret: of.Sensitive || of.Ephemeral})
	if ok {
		given := frame.Given{Text: text, IsText: true, From: "input"}
		if v.answers == nil {
			v.answers = map[string]frame.Given{}
		}
		v.Given[of.Name], v.answers[of.Name] = given, given
	}
	return ok
}

// Required reports whether a variable has no default.
func Required(v *config.Variable) bool { return v.Default.Type() == cty.NilType }
