package devcmd

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// mermaid draws the resources and their references, or all declarations, as a flowchart of Mermaid.
func mermaid(p *program.Program, all bool) string {
	list := resourcesOf(p)
	if all {
		list = p.Decls()
	}
	number := map[program.Decl]int{}
	for i, d := range list {
		number[d.ID] = i
	}
	var b strings.Builder
	b.WriteString("flowchart RL\n")
	module, indent, groups := (addr.Module{}), "  ", 0
	group := func(m addr.Module) {
		if !module.IsRoot() {
			b.WriteString("  end\n")
		}
		if module, indent = m, "  "; !m.IsRoot() {
			fmt.Fprintf(&b, "  subgraph m%d[%q]\n", groups, m.String())
			indent, groups = "    ", groups+1
		}
	}
	for _, d := range list {
		label := d.String()
		if !all {
			label = d.Resource.Local()
			if d.Module != module {
				group(d.Module)
			}
		}
		fmt.Fprintf(&b, "%sn%d[%q]\n", indent, number[d.ID], label)
	}
	group(addr.Module{})
	edge := func(from, to program.Decl) { fmt.Fprintf(&b, "  n%d --> n%d\n", number[from], number[to]) }
	for _, d := range list {
		if all {
			for _, r := range p.Refs(d.ID) {
				edge(d.ID, r.To)
			}
			continue
		}
		for _, to := range resourcesBehind(p, d.ID) {
			edge(d.ID, to.ID)
		}
	}
	return b.String()
}
