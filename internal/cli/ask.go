package cli

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// mayAsk reports whether questions may be put to the user.
func (p *project) mayAsk() bool { return p.opts.input && !p.opts.json && !p.ui.ended }

// supplies makes compiling ask for what providers need, if anybody can be asked.
func (p *project) supplies() {
	if p.mayAsk() {
		p.engine.Supply = p.askProviders
	}
}

// askVariables prompts for required variables that no source sets. Those that stay without a value
// are reported when they are needed.
func (p *project) askVariables() bool {
	for _, name := range sortedNames(p.tree.Root.Module.Variables) {
		v := p.tree.Root.Module.Variables[name]
		if _, set := p.vars[name]; set || !required(v) || !p.mayAsk() {
			continue
		}
		if !p.askVariable(v) {
			return false
		}
	}
	return true
}

func (p *project) askVariable(v *config.Variable) bool {
	title := "var." + v.Name
	if v.Ephemeral {
		title += " (ephemeral)"
	}
	text, ok := p.ui.ask(question{Title: title, Note: v.Description, Secret: v.Sensitive || v.Ephemeral})
	if ok {
		given := lang.Given{Text: text, IsText: true, From: "input"}
		if p.answers == nil {
			p.answers = map[string]lang.Given{}
		}
		p.vars[v.Name], p.answers[v.Name] = given, given
	}
	return ok
}

func required(v *config.Variable) bool { return v.Default.Type() == nilType }

// askProviders prompts for the required arguments that provider configurations of the root module
// do not set.
func (p *project) askProviders(prog *lang.Program, schemas func(addr.Provider) *provider.Schemas) (added, ok bool) {
	for _, d := range prog.Decls() {
		if d.Kind != lang.Provider || !d.Provider.Module.IsRoot() {
			continue
		}
		s := schemas(d.Provider.Provider)
		if s == nil || s.Config == nil {
			continue // Check reports it
		}
		name := config.ProviderName{Local: p.localName(d.Provider.Provider), Alias: d.Provider.Alias}
		values := p.askArguments(name, s.Config)
		if p.cutShort() {
			return false, false
		}
		if len(values) > 0 {
			p.tree.Root.Module.Supply(name, values)
			added = true
		}
	}
	return added, true
}

// localName is what the root module calls a provider.
func (p *project) localName(a addr.Provider) string {
	required := p.tree.Root.Module.Required
	for _, local := range sortedNames(required) {
		if required[local].Source == a {
			return local
		}
	}
	return a.Type
}

// askArguments asks for what a provider block must have and has not. What it still has not then is
// reported as where no questions may be put.
func (p *project) askArguments(name config.ProviderName, s *schema.Schema) map[string]cty.Value {
	var required []string
	about := map[string]*schema.Attr{}
	for _, a := range s.Attrs {
		if a.Required && a.Type.IsPrimitiveType() {
			required = append(required, a.Name)
			about[a.Name] = a
		}
	}
	values := map[string]cty.Value{}
	for _, arg := range p.tree.Root.Module.Unset(name, required) {
		if !p.mayAsk() {
			break
		}
		a := about[arg]
		text, ok := p.ui.ask(question{Title: "provider." + name.String() + "." + arg, Note: a.Description, Secret: a.Sensitive})
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
