package session

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/prompted"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// AskProviders makes Compile ask the user for missing required arguments of the root module's provider configurations,
// if the user may be asked.
func (s *Session) AskProviders() {
	if s.Dir.MayAsk() {
		s.Engine.Supply = s.askProviders
	}
}

// askProviders asks for the required arguments that the provider configurations of the root module do not set, and adds
// the answers to the loaded configuration. added reports whether it added an answer. ok is false after an interrupt.
func (s *Session) askProviders(prog *program.Program, schemas provider.Lookup) (added, ok bool) {
	for _, d := range prog.Decls() {
		if d.Kind != program.Provider || !d.Provider.Module.IsRoot() {
			continue
		}
		described := schemas(d.Provider.Provider)
		if described == nil || described.Config == nil {
			continue // vet.Check reports the error
		}
		name := config.ProviderName{Local: s.localName(d.Provider.Provider), Alias: d.Provider.Alias}
		values := s.askArguments(name, described.Config)
		if s.Dir.Call.Interrupted() {
			return false, false
		}
		if len(values) > 0 {
			prompted.Supply(s.Loader.Tree.Root.Module, name, values)
			added = true
		}
	}
	return added, true
}

// localName returns the local name of a provider in the root module: the first name in required_providers, or the type
// of the provider if required_providers does not have it.
func (s *Session) localName(a addr.Provider) string {
	required := s.Loader.Tree.Root.Module.Required
	for _, local := range slices.Sorted(maps.Keys(required)) {
		if required[local].Source == a {
			return local
		}
	}
	return a.Type
}

// askArguments asks for the required arguments that a provider block does not set, and returns the answers. It asks
// only for strings, numbers and booleans, and stops when the user does not answer or may not be asked. Later checks
// report arguments without a value, and values of a wrong type.
func (s *Session) askArguments(name config.ProviderName, block *schema.Schema) map[string]cty.Value {
	var required []string
	about := map[string]*schema.Attr{}
	for _, a := range block.Attrs {
		if a.Required && a.Type.IsPrimitiveType() {
			required = append(required, a.Name)
			about[a.Name] = a
		}
	}
	values := map[string]cty.Value{}
	for _, arg := range prompted.Unset(s.Loader.Tree.Root.Module, name, required) {
		if !s.Dir.MayAsk() {
			break
		}
		a := about[arg]
		text, ok := s.Dir.Call.UI.Ask(base.Question{Title: "provider." + name.String() + "." + arg, Note: a.Description, Secret: a.Sensitive})
		if !ok {
			break
		}
		v, err := convert.Convert(cty.StringVal(text), a.Type)
		if err != nil {
			v = cty.StringVal(text) // vet.Check reports the error
		}
		values[arg] = v
	}
	return values
}
