package project

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
)

// Names are what a working directory has names for. What cannot be read has none.
type Names struct {
	Addresses []string // resources and modules of the configuration, and instances in the state
	Instances []string // in the state
	Variables []string // of the root module
	Outputs   []string // of the root module
}

// patience is how long a completion waits for a state.
const patience = 3 * time.Second

// ReadNames reads the names of the working directory, for completions: it asks nothing, installs nothing and reports
// nothing.
func ReadNames(c *base.Call) Names {
	p, ok := Open(c, &Options{Parallelism: 1})
	if !ok {
		return Names{}
	}
	var n Names
	if root := p.root(); root != nil {
		n.Variables, n.Outputs = slices.Collect(maps.Keys(root.Variables)), slices.Collect(maps.Keys(root.Outputs))
		for _, r := range root.Resources {
			n.Addresses = append(n.Addresses, r.In(addr.Module{}).String())
		}
		for name := range root.Calls {
			n.Addresses = append(n.Addresses, "module."+name)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s, ok := p.ReadState(ctx); ok && s != nil {
		for o := range s.Objects() {
			n.Instances = append(n.Instances, o.Instance.String())
		}
		n.Outputs = append(n.Outputs, slices.Collect(maps.Keys(s.Outputs))...)
	}
	n.Addresses = append(n.Addresses, n.Instances...)
	for _, list := range []*[]string{&n.Addresses, &n.Instances, &n.Variables, &n.Outputs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return n
}
