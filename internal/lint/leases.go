package lint

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// leases reports ephemeral resources that nothing uses, and leases that stay open longer than their values are used. A
// lease is the time from opening to closing an ephemeral resource: it lasts until the last resource that uses its value
// is finished.
func (c *checker) leases() {
	all := c.p.Decls()
	analysis := receivers.Analyse(c.p, nil)
	users := map[program.Decl]map[program.Decl]bool{} // by ephemeral resource: the resources that receive its value
	var back [][]program.Decl
	for _, d := range all {
		if d.Kind != program.Resource {
			continue
		}
		if d.Resource.Mode == addr.Ephemeral && !analysis.Referred(d.ID) && c.own(d) {
			c.add(unopened, d.Range, "Nothing uses the values of %s, so Lethe does not open it. Remove the block.", d.Resource)
		}
		for _, r := range c.p.Refs(d.ID) {
			if to := all[r.To]; r.Use == program.ByDepends && to.Kind == program.Resource && to.Resource.Mode == addr.Ephemeral && c.own(d) {
				c.add(longLease, r.Range, "%s depends on %s without using its values, so the lease is held until %s is finished. Remove it from depends_on.", d.Resource, to.Resource, d.Resource)
			}
		}
		for _, e := range analysis.Ephemerals(d.ID) {
			if users[e] == nil {
				users[e] = map[program.Decl]bool{}
			}
			users[e][d.ID] = true
		}
	}
	for _, e := range all {
		if len(users[e.ID]) < 2 || !c.own(e) {
			continue
		}
		if back == nil {
			back = c.backwards()
		}
		c.between(e, users[e.ID], back)
	}
}

// between reports the first resource that does not use the value of an ephemeral resource, but runs between two of its
// users, so that the ephemeral resource stays open meanwhile. back holds the declarations that refer to each
// declaration.
func (c *checker) between(lease *program.Declaration, users map[program.Decl]bool, back [][]program.Decl) {
	before := reach(users, func(d program.Decl) (out []program.Decl) {
		for _, r := range c.p.Refs(d) {
			out = append(out, r.To)
		}
		return out
	})
	after := reach(users, func(d program.Decl) []program.Decl { return back[d] })
	for _, d := range c.p.Decls() {
		if d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral && before[d.ID] && after[d.ID] && !users[d.ID] && c.own(d) {
			c.add(longLease, d.Range, "%s does not use the values of %s, but runs between two objects that do. The lease is held meanwhile. Change the order, or use a second ephemeral resource.", d.Resource, lease.Resource)
			return
		}
	}
}

// backwards returns, for each declaration, the declarations that refer to it.
func (c *checker) backwards() [][]program.Decl {
	back := make([][]program.Decl, len(c.p.Decls()))
	for _, d := range c.p.Decls() {
		for _, r := range c.p.Refs(d.ID) {
			back[r.To] = append(back[r.To], d.ID)
		}
	}
	return back
}

// reach returns the declarations in from, and all declarations that can be reached from them. next(d) are the direct
// successors of the declaration d.
func reach(from map[program.Decl]bool, next func(program.Decl) []program.Decl) map[program.Decl]bool {
	seen, todo := map[program.Decl]bool{}, []program.Decl{}
	for d := range from {
		todo = append(todo, d)
	}
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range next(d) {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}
