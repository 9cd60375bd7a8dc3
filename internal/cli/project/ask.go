package project

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// MayAsk reports whether questions may be put to the user.
func (p *Project) MayAsk() bool { return p.Options.Input && p.UI.MayAsk() }

// AskProviders makes Compile ask for what providers need, if questions may be asked.
func (p *Project) AskProviders() {
	if p.MayAsk() {
		p.Engine.Supply = p.askProviders
	}
}

// AskAll prompts for required variables that no source sets. Those that stay without a value
// are reported when they are needed.
func (v *Variables) AskAll() bool {
	all := v.p.Tree.Root.Module.Variables
	for _, name := range names(all) {
		if _, set := v.Given[name]; set || !Required(all[name]) || !v.p.MayAsk() {
			continue
		}
		if !v.Ask(all[name]) {
			return false
		}
	}
	return true
}

// LeaveUnset makes unknown what has no value.
func (v *Variables) LeaveUnset() {
	for name, of := range v.p.Tree.Root.Module.Variables {
		if _, set := v.Given[name]; !set && Required(of) {
			v.Given[name] = frame.Given{Value: cty.UnknownVal(of.Type), From: "nowhere"}
		}
	}
}

// asker is the run of static evaluations: it asks for variables, and knows no functions of providers.
type asker struct {
	frame.NoRun
	v *Variables
}

// Ask prompts for the value of a root variable.
func (a asker) Ask(of *config.Variable) bool { return a.v.Ask(of) }

// Ask prompts for the value of a root variable.
func (v *Variables) Ask(of *config.Variable) bool {
	title := "var." + of.Name
	if of.Ephemeral {
		title += " (ephemeral)"
	}
	text, ok := v.p.UI.Ask(base.Question{Title: title, Note: of.Description, Secret: of.Sensitive || of.Ephemeral})
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

// askProviders prompts for the required arguments that provider configurations of the root module
// do not set.
func (p *Project) askProviders(prog *program.Program, schemas provider.Lookup) (added, ok bool) {
	for _, d := range prog.Decls() {
		if d.Kind != program.Provider || !d.Provider.Module.IsRoot() {
			continue
		}
		s := schemas(d.Provider.Provider)
		if s == nil || s.Config == nil {
			continue // Check reports it
		}
		name := config.ProviderName{Local: p.localName(d.Provider.Provider), Alias: d.Provider.Alias}
		values := p.askArguments(name, s.Config)
		if p.Call.CutShort() {
			return false, false
		}
		if len(values) > 0 {
			p.Tree.Root.Module.Supply(name, values)
			added = true
		}
	}
	return added, true
}

// localName is what the root module calls a provider.
func (p *Project) localName(a addr.Provider) string {
	required := p.Tree.Root.Module.Required
	for _, local := range names(required) {
		if required[local].Source == a {
			return local
		}
	}
	return a.Type
}

// askArguments asks for what a provider block must have and has not. What it still has not then is
// reported as where no questions may be put.
func (p *Project) askArguments(name config.ProviderName, s *schema.Schema) map[string]cty.Value {
	var required []string
	about := map[string]*schema.Attr{}
	for _, a := range s.Attrs {
		if a.Required && a.Type.IsPrimitiveType() {
			required = append(required, a.Name)
			about[a.Name] = a
		}
	}
	values := map[string]cty.Value{}
	for _, arg := range p.Tree.Root.Module.Unset(name, required) {
		if !p.MayAsk() {
			break
		}
		a := about[arg]
		text, ok := p.UI.Ask(base.Question{Title: "provider." + name.String() + "." + arg, Note: a.Description, Secret: a.Sensitive})
		if !ok {
			break
		}
		v, err := convert.Convert(cty.StringVal(text), a.Type)
		if err != nil {
			v = cty.StringVal(text) // Check says what is wrong with it
		}
		values[arg] = v
	}
	return values
}
