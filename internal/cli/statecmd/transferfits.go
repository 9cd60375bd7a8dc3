package statecmd

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/transfer"
)

// unfit adds the error that a configuration does not fit the transfer, with a formatted text, and returns false.
func (t *transferring) unfit(format string, a ...any) bool {
	t.source.call.Bag.Add(diag.Errorf("Transfer does not fit the configuration", format, a...))
	return false
}

// fitsSource adds an error and returns false if the source still declares a moved module or resource as a whole. For a
// move of single instances, the next plan of the source shows whether the source still declares them.
func (t *transferring) fitsSource() bool {
	for _, moved := range t.plan.Renamed {
		from := moved[0]
		if from.Keyed() {
			continue
		}
		if from.Mode == 0 {
			if r, declared := t.source.Program.Call(from.Module()); declared {
				name, _ := from.AsModule().Call()
				return t.unfit("The source still calls %s (%s, line %d), so its next plan would create the objects again. Remove this block from the source, and everything that refers to it:\n\n%s", from, r.Filename, r.Start.Line, moduleBlock(name))
			}
		} else if d, declared := t.source.Program.Resource(from.Resource()); declared {
			return t.unfit("The source still declares %s (%s, line %d), so its next plan would create the object again. Remove this block from the source, and everything that refers to it:\n\n%s", from, d.Range.Filename, d.Range.Start.Line, resourceBlock(d.Resource))
		}
	}
	return true
}

// stillPlanned adds the error for a source whose next plan still has moved objects, and returns false.
func (t *transferring) stillPlanned(changes []*plan.Change) bool {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("  %s: %s", c.Object, c.Action))
	}
	i := changes[0].Object.Instance
	return t.unfit("The source still declares moved objects, so its next plan would create them again:\n%s\n\nRemove their keys from count or for_each in the source, for example:\n\n  resource %q %q {\n    for_each = toset([…]) # without the key %s\n    …\n  }", strings.Join(list, "\n"), i.Type, i.Name, strings.Trim(i.Key.String(), "[]"))
}

// fitsTarget adds an error and returns false if the target does not declare a moved object with the same provider.
func (t *transferring) fitsTarget() bool {
	for _, m := range t.plan.Moves {
		res := m.To.Resource()
		for at := res.Module; !at.IsRoot(); at = at.Parent() {
			if !called(t.target.Program, at) && (at.Parent().IsRoot() || called(t.target.Program, at.Parent())) {
				return t.unfit("The target %s does not call %s. Add the call there first, with the source of the module:\n\n%s", t.target.name, at, moduleBlock(at.Name()))
			}
		}
		d, declared := t.target.Program.Resource(res)
		if !declared {
			return t.unfit("The target %s does not declare %s. Add its block there first, with the arguments of %s:\n\n%s", t.target.name, res, m.From.Resource(), resourceBlock(res))
		}
		have, want := t.config(d).Provider, t.plan.Entry(m).Provider.Provider
		if have.Canon() != want.Canon() {
			return t.unfit("%s belongs to the provider %s, and %s uses %s in the target %s. Use the same provider there:\n\n  terraform {\n    required_providers {\n      %s = {\n        source = %q\n      }\n    }\n  }", m.From, want.ForDisplay(), res, have.ForDisplay(), t.target.name, want.Type, want.ForDisplay())
		}
	}
	return true
}

// called reports whether the configuration of a program has a module call with the address m.
func called(p *program.Program, m addr.Module) bool {
	_, declared := p.Call(m)
	return declared
}

// config returns the provider configuration that a resource of the target uses.
func (t *transferring) config(d *program.Declaration) addr.ProviderConfig {
	p := t.target.Program
	if of := p.ProviderOf(d.ID); of != program.NoDecl {
		return p.Decls()[of].Provider
	}
	return p.ImpliedProvider(d.Resource)
}

// declared returns the provider configuration that the target's program names for a moved object. The argument was is
// the object's provider configuration in the source, from which declared takes the registry host. If the target's
// provider block has for_each, the result has no key. The exception is a key in the target that depends on resources:
// the result then has the key of the provider configuration in the source.
func (t *transferring) declared(m transfer.Move, was addr.ProviderInstance) addr.ProviderInstance {
	d, _ := t.target.Program.Resource(m.To.Resource()) // fitsTarget has checked that the resource is declared
	now := addr.ProviderInstance{ProviderConfig: t.config(d)}
	if p, ok := t.target.Program.ProviderConfig(now.ProviderConfig); ok && p.Prov != nil && p.Prov.ForEach != nil && !declared.Early(t.target.Program, t.target.steady, d) {
		now.Key = was.Key // only the plan can compute the key of the target
	}
	now.Provider = was.Provider // keep the registry host of was
	return now
}

// used returns the provider instance that the next plan of the target uses for a moved object.
func (t *transferring) used(m transfer.Move, was addr.ProviderInstance) addr.ProviderInstance {
	now := t.declared(m, was)
	for _, c := range t.target.next.Changes {
		if c.Object.Instance == m.To.Instance && !c.Object.IsDeposed() && c.Provider.Provider != (addr.Provider{}) {
			now = c.Provider
			now.Provider = was.Provider
		}
	}
	return now
}

func resourceBlock(r addr.Resource) string {
	return fmt.Sprintf("  resource %q %q {\n    …\n  }", r.Type, r.Name)
}

func moduleBlock(name string) string {
	return fmt.Sprintf("  module %q {\n    source = \"…\"\n    …\n  }", name)
}
