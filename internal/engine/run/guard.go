package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// guardVariable registers the value of an ephemeral variable: of a root variable all of it. That of
// another one is known from where it comes: what is ephemeral in it is registered there, and what is
// sensitive may be kept, but not be shown.
func (r *Run) guardVariable(at addr.ModuleInstance, name string, v cty.Value) {
	origin := secret.Origin{Addr: "var." + name, Kind: secret.EphemeralVariable}
	if !at.IsRoot() {
		origin.Addr = at.String() + ".var." + name
	} else {
		r.Settings.Secrets.AddValue(v, origin)
		return
	}
	origin.Sensitive = true
	given := mark.Split(v)
	for _, p := range given.PathsOf(mark.Sensitive) {
		if part, err := p.Apply(given.Raw); err == nil {
			r.Settings.Secrets.MaskValue(part, origin)
		}
	}
}

// guardVariables makes sure that the values of ephemeral root variables are registered, used or not.
func (r *Run) guardVariables() {
	for name, v := range r.Program.Tree().Root.Module.Variables {
		if v.Ephemeral {
			r.Frame.Named(program.Variable, name, frame.After, &diag.Bag{})
		}
	}
}

// guardArguments is a part of frame.Run, Handed: what is ephemeral in the arguments of a provider's function
// may be known only to this run.
func (r *Run) guardArguments(name string, args []cty.Value) {
	for _, a := range args {
		r.Objects.Given(mark.Split(a), nil, name)
	}
}

// observe is a part of frame.Run, Observe. If no argument of a provider's function is ephemeral, its result may be stored,
// also if an argument is sensitive. So no secret may be in the result, such as one that the provider is configured with.
func (r *Run) observe(name string, args []cty.Value, result cty.Value) error {
	fleeting := func(a cty.Value) bool { return mark.Anywhere(a, mark.Ephemeral) }
	if strings.HasPrefix(name, "provider::") && !r.Settings.Secrets.Empty() && !slices.ContainsFunc(args, fleeting) {
		var err error
		object.Texts(result, func(_ cty.Path, text string) {
			if from, hit := r.Settings.Secrets.Check(text, "", nil); hit && err == nil {
				err = fmt.Errorf("the provider's function returned %s, which it was not given as an argument. What functions make of arguments that are not ephemeral may be kept; this is a bug in the provider, to be reported there", from)
			}
		})
		if err != nil {
			return err
		}
	}
	return r.Results.observe(name, args, result)
}

// plainStrings finds strings that are public already, because they stand as plain values in the configuration or in a
// variable that is neither ephemeral nor sensitive. Strings of the prior state are left to the object.
type plainStrings struct {
	run *Run

	mu    sync.Mutex
	known map[string]bool
	files []string // what is plain in the configuration; nil: not read yet
}

func (p *plainStrings) holds(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[text]
	if !ok {
		found = p.inConfiguration(text) || p.inVariables(text)
		p.known[text] = found
	}
	return found
}

func (p *plainStrings) inConfiguration(text string) bool {
	if p.files == nil {
		p.files = []string{}
		p.run.Program.Tree().Root.Walk(func(n *config.Node) {
			for _, f := range n.Module.Files {
				p.files = append(p.files, config.PlainText(f.Name, f.Bytes))
			}
		})
	}
	return slices.ContainsFunc(p.files, func(file string) bool { return strings.Contains(file, text) })
}

func (p *plainStrings) inVariables(text string) bool {
	for name, v := range p.run.Program.Tree().Root.Module.Variables {
		if v.Ephemeral || v.Sensitive {
			continue
		}
		value, out := p.run.Frame.Named(program.Variable, name, frame.After, &diag.Bag{})
		if out == frame.OK && len(value.Marks) == 0 && mentions(value.Raw, text) {
			return true
		}
	}
	return false
}

// mentions reports whether text stands in one of a value's strings.
func mentions(v cty.Value, text string) bool {
	found := false
	secret.Leaves(v, func(_ cty.Path, leaf cty.Value, own string) {
		found = found || leaf.Type() == cty.String && strings.Contains(own, text)
	})
	return found
}
