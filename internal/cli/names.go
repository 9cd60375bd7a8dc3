package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
)

// dirNames are the names in a working directory, for completions.
type dirNames struct {
	Addresses []string // resources and module calls of the root module, and instances in the state
	Instances []string // the instances in the state
	Variables []string // the variables of the root module
	Outputs   []string // the outputs of the root module, and the outputs in the state
}

// patience is the time limit for reading a state during a completion.
const patience = 3 * time.Second

// readNames returns the names of the root module and of the state, for completions. A shell starts the program for
// completions while the user types, so readNames asks no question, installs nothing and reports no error. If a file or
// the state cannot be read, its names are missing. Reading the state may take no longer than patience.
func readNames(c *base.Call) dirNames {
	d, ok := workdir.Open(c, &workdir.Options{Parallelism: 1})
	if !ok {
		return dirNames{}
	}
	var n dirNames
	l := loader.New(d)
	if root := l.Root(); root != nil {
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
	if s, ok := states.New(l).Read(ctx); ok && s != nil {
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
