package receivers

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Analysis answers questions about what the declarations of one program refer to, near and far.
// References have no cycles, so each question is one search with a memory: linear in declarations plus
// references. It may be asked from many goroutines.
type Analysis struct {
	Any bool // the program declares ephemeral resources

	prog   *program.Program
	tested func(addr.Provider) bool // nil: no provider is under test
	moving []answer                 // by declaration: does it, or anything it refers to, come from a managed resource?
	parted []answer                 // by declaration: does an ephemeral resource have a part in it? nil: not known yet

	mu         sync.Mutex
	receivedOf map[program.Decl][]Received // ephemeral resources that reach a declaration, once asked for
	repeats    map[program.Decl][]Received // those that reach its repetition
	whole      map[program.Decl]bool       // ephemeral resources that some declaration receives with all instances; nil: not known yet
	exports    map[program.Decl]Received   // ephemeral resources that outputs of modules hand on; nil: not known yet
	named      map[program.Decl]bool       // declarations that another one refers to; nil: not known yet
}

// Received is an ephemeral resource that a declaration receives.
type Received struct {
	Of        program.Decl
	Instances []Instance     // the instances that are meant, where each reference says which; nil: all
	Through   []program.Decl // outputs that hand it on
}

// Keys are the instances that the instance with the key own receives; nil: all.
func (w Received) Keys(own addr.Key) []addr.Key {
	if w.Instances == nil {
		return nil
	}
	out := make([]addr.Key, len(w.Instances))
	for i, x := range w.Instances {
		out[i] = x.For(own)
	}
	return out
}

// Instance is one instance of an ephemeral resource, as a receiver names it.
type Instance struct {
	Same bool     // the one that has the receiving instance's own key
	Key  addr.Key // else the one with this key
}

// For is the key that an instance with the key own means.
func (i Instance) For(own addr.Key) addr.Key {
	if i.Same {
		return own
	}
	return i.Key
}

type answer uint8

const (
	notAsked answer = iota
	no
	yes
)

// Analyse makes the analysis of a compiled program. tested says which providers a test program runs;
// nil: none.
func Analyse(p *program.Program, tested func(addr.Provider) bool) *Analysis {
	r := &Analysis{prog: p, tested: tested, moving: computeMoving(p), receivedOf: map[program.Decl][]Received{}, repeats: map[program.Decl][]Received{}}
	for _, d := range p.Decls() {
		r.Any = r.Any || d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
	}
	return r
}

// Leased reports whether an ephemeral resource has a part in a value, other than by what managed and
// data resources are made from.
func (r *Analysis) Leased(d program.Decl) bool {
	if !r.Any {
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
func computeLeased(p *program.Program) []answer {
	return propagate(p, func(d *program.Declaration) answer {
		switch {
		case d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral:
			return yes
		case d.Kind == program.Resource || d.Kind == program.Provider:
			return no
		}
		return notAsked
	})
}

// computeMoving finds the declarations whose value differs between the two faces.
func computeMoving(p *program.Program) []answer {
	return propagate(p, func(d *program.Declaration) answer {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			return yes
		}
		return notAsked
	})
}

// propagate answers a question for each declaration: by itself where own knows, and elsewhere with yes if
// that is the answer for something that it refers to.
func propagate(p *program.Program, own func(*program.Declaration) answer) []answer {
	memo := make([]answer, len(p.Decls()))
	var ask func(program.Decl) bool
	ask = func(d program.Decl) bool {
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
		ask(program.Decl(d))
	}
	return memo
}

// Steady reports whether a declaration's value is the same before and after: no managed resource
// has a part in it.
func (r *Analysis) Steady(d program.Decl) bool { return r.moving[d] == no }

// FromResources reports whether a declaration's value is made from resources.
func (r *Analysis) FromResources(d program.Decl) bool {
	found := false
	r.Resources(d, func(program.Ref) { found = true })
	return found
}

// Resources visits the references of d to resources: its own, and those of values (variables, locals,
// outputs, module calls) on the way, but not those of other resources.
func (r *Analysis) Resources(d program.Decl, visit func(program.Ref)) {
	r.things(d, func(ref program.Ref) {
		if r.prog.Decls()[ref.To].Kind == program.Resource {
			visit(ref)
		}
	})
}

// things is resources with the provider configurations among what is referred to.
func (r *Analysis) things(d program.Decl, visit func(program.Ref)) {
	seen := map[program.Decl]bool{}
	var walk func([]program.Ref)
	walk = func(refs []program.Ref) {
		for _, ref := range refs {
			switch r.prog.Decls()[ref.To].Kind {
			case program.Resource, program.Provider:
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

// Recorded is what the state remembers as the dependencies of a resource: the managed and data
// resources that it refers to, through values, and through what leaves no trace itself: ephemeral
// resources, and the settings of its provider.
func (r *Analysis) Recorded(d program.Decl) []addr.Resource {
	var out []addr.Resource
	self := r.prog.Decls()[d].Resource
	seen := map[program.Decl]bool{}
	var visit func(program.Ref)
	visit = func(ref program.Ref) {
		if seen[ref.To] {
			return
		}
		seen[ref.To] = true
		to := r.prog.Decls()[ref.To]
		switch {
		case to.Kind == program.Provider || to.Resource.Mode == addr.Ephemeral:
			r.things(ref.To, visit)
		case to.Resource != self:
			out = append(out, to.Resource)
		}
	}
	r.things(d, visit)
	return out
}
