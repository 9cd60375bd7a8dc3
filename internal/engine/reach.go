package engine

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
)

// reach answers questions about what a declaration refers to, near and far. References have no
// cycles, so each question is one walk with a memory: linear in declarations plus references.
type reach struct {
	prog   *lang.Program
	moving []answer // by declaration: does it, or anything it refers to, come from a managed resource?
	any    bool     // there are ephemeral resources
	parted []answer // by declaration: does an ephemeral resource have a part in it? nil: not known yet

	mu      sync.Mutex
	holds   map[lang.Decl][]want // ephemeral resources that reach a declaration, once asked for
	repeats map[lang.Decl][]want // those that reach its repetition
	whole   map[lang.Decl]bool   // ephemeral resources of which somebody receives all instances; nil: not known yet
	exports map[lang.Decl]want   // ephemeral resources that outputs of modules hand on; nil: not known yet
	named   map[lang.Decl]bool   // declarations that another one refers to; nil: not known yet
}

type answer uint8

const (
	notAsked answer = iota
	no
	yes
)

func newReach(p *lang.Program) *reach {
	r := &reach{prog: p, moving: computeMoving(p), holds: map[lang.Decl][]want{}, repeats: map[lang.Decl][]want{}}
	for _, d := range p.Decls() {
		r.any = r.any || d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral
	}
	return r
}

// leased reports whether an ephemeral resource has a part in a value, other than by what managed and
// data resources are made from.
func (r *reach) leased(d lang.Decl) bool {
	if !r.any {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parted == nil {
		r.parted = computeLeased(r.prog)
	}
	return r.parted[d] == yes
}

// computeLeased finds the declarations that a lease has a part in, by values alone.
func computeLeased(p *lang.Program) []answer {
	return propagate(p, func(d *lang.Declaration) answer {
		switch {
		case d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral:
			return yes
		case d.Kind == lang.Resource || d.Kind == lang.Provider:
			return no
		}
		return notAsked
	})
}

// computeMoving finds the declarations whose value differs between the two faces.
func computeMoving(p *lang.Program) []answer {
	return propagate(p, func(d *lang.Declaration) answer {
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Managed {
			return yes
		}
		return notAsked
	})
}

// propagate answers a question for each declaration: by itself where own knows, and elsewhere with yes if
// that is the answer for something that it refers to.
func propagate(p *lang.Program, own func(*lang.Declaration) answer) []answer {
	memo := make([]answer, len(p.Decls()))
	var ask func(lang.Decl) bool
	ask = func(d lang.Decl) bool {
		if memo[d] != notAsked {
			return memo[d] == yes
		}
		if memo[d] = own(p.Decls()[d]); memo[d] != notAsked {
			return memo[d] == yes
		}
		memo[d] = no
		for _, ref := range p.Refs(d) {
			if ask(ref.To) {
				memo[d] = yes
				break
			}
		}
		return memo[d] == yes
	}
	for d := range memo {
		ask(lang.Decl(d))
	}
	return memo
}

// steady reports whether a declaration's value is the same before and after: no managed resource
// has a part in it.
func (r *reach) steady(d lang.Decl) bool { return r.moving[d] == no }

// fromResources reports whether a declaration's value is made from resources.
func (r *reach) fromResources(d lang.Decl) bool {
	found := false
	r.resources(d, func(lang.Ref) { found = true })
	return found
}

// resources visits the references of d to resources: its own, and those of values (variables, locals,
// outputs, module calls) on the way, but not those of other resources.
func (r *reach) resources(d lang.Decl, visit func(lang.Ref)) {
	r.things(d, func(ref lang.Ref) {
		if r.prog.Decls()[ref.To].Kind == lang.Resource {
			visit(ref)
		}
	})
}

// things is resources with the provider configurations among what is referred to.
func (r *reach) things(d lang.Decl, visit func(lang.Ref)) {
	seen := map[lang.Decl]bool{}
	var walk func([]lang.Ref)
	walk = func(refs []lang.Ref) {
		for _, ref := range refs {
			switch r.prog.Decls()[ref.To].Kind {
			case lang.Resource, lang.Provider:
				visit(ref)
			default:
				if !seen[ref.To] {
					seen[ref.To] = true
					walk(r.prog.Refs(ref.To))
				}
			}
		}
	}
	walk(r.prog.Refs(d))
}

// recorded is what the state remembers as the dependencies of a resource: the managed and data
// resources that it refers to, through values, and through what leaves no trace itself: ephemeral
// resources, and the settings of its provider.
func (r *reach) recorded(d lang.Decl) []addr.Resource {
	var out []addr.Resource
	self := r.prog.Decls()[d].Resource
	seen := map[lang.Decl]bool{}
	var visit func(lang.Ref)
	visit = func(ref lang.Ref) {
		if seen[ref.To] {
			return
		}
		seen[ref.To] = true
		to := r.prog.Decls()[ref.To]
		switch {
		case to.Kind == lang.Provider || to.Resource.Mode == addr.Ephemeral:
			r.things(ref.To, visit)
		case to.Resource != self:
			out = append(out, to.Resource)
		}
	}
	r.things(d, visit)
	return out
}
