package variables

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// CollectSaved uses the variable values of a saved plan. The plan does not contain ephemeral variables, so CollectSaved
// uses their values from the flags, files and environment of this command. The user may also give values of other
// variables. A value that equals the value in the plan has no effect. Any other value is an error if it comes from -var
// or -var-file, and otherwise is ignored with a warning. CollectSaved returns false if an error was reported.
func (v *Values) CollectSaved(values map[string]plan.Variable) bool {
	if !v.Collect() {
		return false
	}
	ok := true
	for name, of := range v.root.Variables {
		if of.Ephemeral {
			continue
		}
		given, isGiven := v.Given[name]
		delete(v.Given, name)
		kept, isKept := values[name]
		if isKept {
			v.Given[name] = frame.Given{Value: kept.Value, From: "the saved plan"}
		}
		if !isGiven || isKept && v.same(of, given, kept.Value) {
			continue
		}
		if !v.onCommandLine(given) {
			v.ignored(of, given, kept.Value, isKept)
		} else {
			v.dir.Call.Bag.Add(diag.Errorf("Can't change variable when applying a saved plan", "The variable %s cannot be changed with -var or -var-file, because the saved plan already has its value. To change it, make a new plan.", name))
			ok = false
		}
	}
	return ok
}

// onCommandLine reports whether a value comes from -var or -var-file.
func (v *Values) onCommandLine(given frame.Given) bool {
	return given.From == "-var" || slices.ContainsFunc(v.dir.Options.Vars, func(a workdir.Assignment) bool {
		return a.File && given.From == v.dir.Display(v.dir.Call.Path(a.Text))
	})
}

// ignored warns of a value that has no effect, because the variables have the values of the saved plan. The ignored
// value comes from the environment, or from a file that no option names. kept is the value in the plan. The warning
// shows kept only if isKept is true, because otherwise the plan does not contain the value, only if the variable is not
// sensitive, and only if its JSON has at most 80 bytes.
func (v *Values) ignored(of *config.Variable, given frame.Given, kept cty.Value, isKept bool) {
	values := ""
	if !of.Sensitive && isKept {
		if text, err := ctyjson.Marshal(kept, kept.Type()); err == nil && len(text) <= 80 {
			values = " The saved plan has the value " + string(text) + "."
		}
	}
	v.dir.Call.Bag.Add(diag.Warningf("Ignoring variable when applying a saved plan", "The saved plan already has a value of the variable %s.%s The other value, from %s, is ignored. To use it, make a new plan.", of.Name, values, given.From))
}

// same reports whether a value that the user gave is equal to kept, the value in the plan, after both are converted to
// the type of the variable. It returns false if a value cannot be converted.
func (v *Values) same(of *config.Variable, given frame.Given, kept cty.Value) bool {
	value := cty.StringVal(given.Text)
	if !given.IsText {
		value = given.Value
	} else if of.TypeGiven && !of.Type.IsPrimitiveType() {
		var ok bool
		if value, ok = config.ParseValue("-var", given.Text, v.dir.Settings.Limits, &diag.Bag{}); !ok {
			return false
		}
	}
	a, err1 := convert.Convert(value, of.Type.WithoutOptionalAttributesDeep())
	b, err2 := convert.Convert(kept, of.Type.WithoutOptionalAttributesDeep())
	return err1 == nil && err2 == nil && a.RawEquals(b)
}
