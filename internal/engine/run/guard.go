package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/plaintext"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// registrar registers the secrets in variables and in arguments of provider functions, so that outputs mask them and
// answers of providers may not contain them.
type registrar struct {
	secrets *secret.Set
	objects *object.Walk
}

// variable registers the value of an ephemeral variable. In the root module, the whole value is a secret. In other
// modules, the ephemeral parts were registered at their origin. There, variable registers only the sensitive parts,
// which states may store but outputs mask.
func (g *registrar) variable(at addr.ModuleInstance, name string, v cty.Value) {
	origin := secret.Origin{Addr: "var." + name, Kind: secret.EphemeralVariable}
	if !at.IsRoot() {
		origin.Addr = at.String() + ".var." + name
	} else {
		g.secrets.AddValue(v, origin)
		return
	}
	origin.Sensitive = true
	given := mark.Split(v)
	for _, p := range given.PathsOf(mark.Sensitive) {
		if part, err := p.Apply(given.Raw); err == nil {
			g.secrets.MaskValue(part, origin)
		}
	}
}

// arguments registers the ephemeral parts of the arguments of a provider's function as secrets.
func (g *registrar) arguments(name string, args []cty.Value) {
	for _, a := range args {
		if mark.Anywhere(a, mark.Ephemeral) {
			g.objects.Guard.Given(mark.Split(a), nil, name)
		}
	}
}

// evaluateEphemeral evaluates all ephemeral root variables, even if no declaration uses them. Their evaluation
// registers the values as secrets.
func evaluateEphemeral(p *program.Program, f *frame.Frame) {
	for name, v := range p.Tree().Root.Module.Variables {
		if v.Ephemeral {
			f.Named(program.Variable, name, frame.After, &diag.Bag{})
		}
	}
}

// leaks returns an error if the result of a provider's function contains a secret, for example from the provider's
// settings. If an argument is ephemeral, the result is ephemeral, too, and leaks returns nil. Otherwise the result may
// be stored, so it must not contain secrets.
func leaks(secrets *secret.Set, name string, args []cty.Value, result cty.Value) error {
	impure := func(a cty.Value) bool { return mark.Anywhere(a, mark.Ephemeral) }
	if !strings.HasPrefix(name, "provider::") || secrets.Empty() || slices.ContainsFunc(args, impure) {
		return nil
	}
	var err error
	guard.Texts(result, func(_ cty.Path, text string) {
		if from, hit := secrets.Check(text, "", nil); hit && err == nil {
			err = fmt.Errorf("the provider's function returned %s, which is not in its arguments, so it could be stored. This is a bug in the provider. Report it to its developers", from)
		}
	})
	return err
}

// plainStrings finds strings that are public, so that they do not count as secrets in answers of providers. A string is
// public if the text of the configuration contains it, or if a root variable that is neither ephemeral nor sensitive
// contains it.
type plainStrings struct {
	program *program.Program
	frame   *frame.Frame // nil until the frame (the values of the program) is made

	mu    sync.Mutex
	known map[string]bool
	files *secret.Texts // the plain text of the configuration; nil: not read yet
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
		var all []string
		p.program.Tree().Root.Walk(func(n *config.Node) {
			for _, f := range n.Module.Files {
				all = append(all, plaintext.Of(f.Name, f.Bytes))
			}
		})
		p.files = secret.NewTexts(all)
	}
	return p.files.Contain(text)
}

func (p *plainStrings) inVariables(text string) bool {
	for name, v := range p.program.Tree().Root.Module.Variables {
		if v.Ephemeral || v.Sensitive {
			continue
		}
		value, out := p.frame.Named(program.Variable, name, frame.After, &diag.Bag{})
		if out == frame.OK && len(value.Marks) == 0 && mentions(value.Raw, text) {
			return true
		}
	}
	return false
}

// mentions reports whether a string in the value v contains text.
func mentions(v cty.Value, text string) bool {
	found := false
	secret.Leaves(v, func(_ cty.Path, leaf cty.Value, own string) {
		found = found || leaf.Type() == cty.String && strings.Contains(own, text)
	})
	return found
}
