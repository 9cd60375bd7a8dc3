package project

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Attached reports whether a provider runs already: another program has started it.
func (p *Project) Attached(a addr.Provider) bool {
	_, ok := p.reattach[a.Canon()]
	return ok
}

// Developed reports whether the program of a provider may be rebuilt while its version stays: development overrides, and
// programs that run already.
func (p *Project) Developed(a addr.Provider) bool {
	twin, has := a.Counterpart()
	over := p.Settings.Overrides
	return p.Attached(a) || over[a] != "" || has && over[twin] != ""
}

// WarnOverrides says that development overrides are in effect.
func (p *Project) WarnOverrides() {
	over := p.Providers.Overridden()
	if len(over) == 0 {
		return
	}
	var lines []string
	for _, a := range over {
		name, dir := a.ForDisplay(), p.Settings.Overrides[a]
		if twin, _ := a.Counterpart(); p.Settings.Overrides[twin] != "" && p.Settings.Overrides[twin] != dir {
			name = a.String()
		}
		if line := " - " + name + " in " + dir; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	p.Bag.Add(diag.Warningf("Provider development overrides are in effect",
		"The following provider development overrides are set in the CLI configuration:\n%s\n\nThe behavior may therefore not match any released version of the provider and applying changes may cause the state to become incompatible with published releases.", strings.Join(lines, "\n")))
}

// Installed checks that every provider is there before any is started. One that was never selected
// is a message of its own; those that were selected and cannot be started are one together, as are
// those of which the configuration wants another version by now. Those that are not there, and those
// that may be others than they seem, are left out of what follows.
func (p *Project) Installed() bool {
	ok, list, changed := true, "", ""
	var broken, unfit []addr.Provider
	absent := doubtful(p.Tree)
	p.Engine.Absent = absent
	known := p.Pool.Known()
	needs := slices.DeleteFunc(p.Needs(), func(n fetch.Need) bool {
		return known[n.Provider] != nil || absent[n.Provider] || n.Provider.IsBuiltin() || p.Attached(n.Provider)
	})
	p.link(needs)
	for _, n := range needs {
		if err := p.Providers.Fits(n, p.Lock); err != nil {
			changed += fmt.Sprintf("\n  - provider %s: %s", n.Provider, err)
			unfit = append(unfit, n.Provider)
			absent[n.Provider], ok = true, false
			continue
		}
		err := p.Providers.Verify(n.Provider, p.Lock)
		switch {
		case err == nil:
			continue
		case errors.Is(err, fetch.ErrNotSelected):
			p.Bag.Add(neededBy(p.Tree, n.Provider, diag.Errorf("Missing required provider", "This configuration requires provider %s, but that provider isn't available. You may be able to install it automatically by running:\n  lethe init", n.Provider)))
		default:
			list += fmt.Sprintf("\n  - %s: %s", n.Provider, err)
			broken = append(broken, n.Provider)
		}
		absent[n.Provider], ok = true, false
	}
	about := func(list []addr.Provider, d diag.Diagnostic) {
		for _, a := range list {
			d = neededBy(p.Tree, a, d)
		}
		p.Bag.Add(d)
	}
	if len(unfit) > 0 {
		about(unfit, diag.Errorf("Inconsistent dependency lock file", "The following dependency selections recorded in the lock file are inconsistent with the current configuration:%s\n\nTo update the locked dependency selections to match a changed configuration, run:\n  lethe init -upgrade", changed))
	}
	if len(broken) > 0 {
		about(broken, diag.Errorf("Required plugins are not installed", "The installed provider plugins are not consistent with the packages selected in the dependency lock file:%s\n\nLethe uses external plugins to integrate with a variety of different infrastructure services. To download the plugins required for this configuration, run:\n  lethe init", list))
	}
	return ok
}

// link installs what the lock file selects and this machine has, so that no init is needed.
func (p *Project) link(needs []fetch.Need) {
	var names []string
	for _, lock := range p.Providers.Link(needs, p.Lock) {
		names = append(names, lock.Provider.ForDisplay()+" v"+lock.Version)
	}
	if len(names) > 0 {
		p.UI.Line("Installed what " + fetch.LockName + " selects from this machine: " + strings.Join(names, ", "))
	}
}

// doubtful are the providers that are only taken to be required because the entry that says otherwise
// may stand where the configuration could not be read.
func doubtful(tree *config.Tree) map[addr.Provider]bool {
	out := map[addr.Provider]bool{}
	tree.Root.Walk(func(n *config.Node) {
		for _, r := range n.Module.Required {
			before, seen := out[r.Source]
			out[r.Source] = r.Uncertain && (before || !seen)
		}
	})
	return out
}

// All is the root module with all that it calls, and those that tests call if they were loaded.
func (p *Project) All() *config.Node {
	if p.tested != nil {
		return p.tested
	}
	return p.Tree.Root
}

// Needs are the providers that the configuration requires.
func (p *Project) Needs() []fetch.Need {
	by := map[addr.Provider]*fetch.Need{}
	var order []addr.Provider
	p.All().Walk(func(n *config.Node) {
		for _, local := range names(n.Module.Required) {
			r := n.Module.Required[local]
			if by[r.Source] == nil {
				by[r.Source] = &fetch.Need{Provider: r.Source}
				order = append(order, r.Source)
			}
			by[r.Source].Host = by[r.Source].Host || r.HostGiven
			by[r.Source].Versions = append(by[r.Source].Versions, r.Versions...)
		}
	})
	var out []fetch.Need
	for _, a := range order {
		out = append(out, *by[a])
	}
	return out
}

// Schemas are those of the providers.
func (p *Project) Schemas() provider.Lookup { return p.Pool.Lookup(context.Background(), p.Bag) }

// StateNeeds are the providers that only the state needs, besides those that are known.
func StateNeeds(s *state.Snapshot, have []fetch.Need) []fetch.Need {
	known := map[string]bool{}
	for _, n := range have {
		known[n.Provider.Canon().String()] = true
	}
	var out []fetch.Need
	for _, r := range s.Resources() {
		if a := r.Provider.Provider; !known[a.Canon().String()] {
			known[a.Canon().String()] = true
			out = append(out, fetch.Need{Provider: a})
		}
	}
	return out
}
