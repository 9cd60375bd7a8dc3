package devcmd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/lang/program"
)

// resourcesOf returns the declared resources, sorted by the address of their module, and then by their address in the
// module.
func resourcesOf(p *program.Program) []*program.Declaration {
	var list []*program.Declaration
	for _, d := range p.Decls() {
		if d.Kind == program.Resource {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *program.Declaration) int {
		return cmp.Or(strings.Compare(a.Module.String(), b.Module.String()), strings.Compare(a.Resource.Local(), b.Resource.Local()))
	})
	return list
}

// resourcesBehind returns the resources that a declaration refers to, directly or through declarations that are no
// resources, such as locals. It does not follow the references of these resources.
func resourcesBehind(p *program.Program, d program.Decl) []*program.Declaration {
	var out []*program.Declaration
	seen := map[program.Decl]bool{d: true}
	var walk func(program.Decl)
	walk = func(d program.Decl) {
		for _, r := range p.Refs(d) {
			if seen[r.To] {
				continue
			}
			seen[r.To] = true
			if to := p.Decls()[r.To]; to.Kind == program.Resource {
				out = append(out, to)
			} else {
				walk(r.To)
			}
		}
	}
	walk(d)
	return out
}
