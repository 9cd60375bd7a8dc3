package receivers

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Analysis answers questions about the direct and indirect references of a program's declarations. References have no
// cycles, so each question is one search that visits each declaration once. Its time is linear in declarations plus
// references. The methods may be called concurrently.
type Analysis struct {
	Any bool // the program declares ephemeral resources

	prog    *program.Program
	echoes  func(addr.Provider) bool // nil: no provider echoes its settings
	moving  []answer                 // by declaration: whether it is a managed resource or depends on one
	answers []answer                 // by declaration: whether it depends on an ephemeral resource through values; nil: not computed yet

	mu         sync.Mutex
	receivedOf map[program.Decl][]Received // ephemeral resources that a declaration receives, computed so far
	repeats    map[program.Decl][]Received // ephemeral resources that determine its repetition, computed so far
	whole      map[program.Decl]bool       // ephemeral resources of which a declaration receives all instances; nil: not computed yet
	exports    map[program.Decl]Received   // ephemeral resources that module outputs return; nil: not computed yet
	named      map[program.Decl]bool       // declarations that another one refers to; nil: not computed yet
}

// Received is an ephemeral resource that a declaration receives.
type Received struct {
	Of        program.Decl
	Instances []Instance     // the received instances, if each reference names one; nil: all
	Through   []program.Decl // outputs that return it
}

// Keys returns the keys of the instances that the receiving instance with the key own receives; nil: all.
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
	Same bool     // the instance with the key of the receiving instance
	Key  addr.Key // the instance with this key, if Same is false
}

// For returns the key that the receiving instance with the key own means.
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

// Analyse returns the analysis of a compiled program. echoes reports whether a provider echoes its settings; nil means
// that none does.
func Analyse(p *program.Program, echoes func(addr.Provider) bool) *Analysis {
	r := &Analysis{prog: p, echoes: echoes, moving: computeMoving(p), receivedOf: map[program.Decl][]Received{}, repeats: map[program.Decl][]Received{}}
	for _, d := range p.Decls() {
		r.Any = r.Any || d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
	}
	return r
}

// Leased reports whether a value depends on an ephemeral resource, not counting dependencies through managed and data
// resources.
func (r *Analysis) Leased(d program.Decl) bool {
	if !r.Any {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers = computeLeased(r.prog)
	}
	return r.answers[d] == yes
}

// computeLeased returns the declarations that depend on an ephemeral resource through values.
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

// computeMoving returns the declarations whose values may differ between the two faces.
func computeMoving(p *program.Program) []answer {
	return propagate(p, func(d *program.Declaration) answer {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			return yes
		}
		return notAsked
	})
}

// propagate answers a question for each declaration. If own returns notAsked, the answer is yes if it is yes for a
// declaration that it refers to, and no otherwise.
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

// Steady reports whether a declaration has the same value on both faces, because it depends on no managed resource.
func (r *Analysis) Steady(d program.Decl) bool { return r.moving[d] == no }

// FromResources reports whether the value of a declaration depends on resources.
func (r *Analysis) FromResources(d program.Decl) bool {
	found := false
	r.Resources(d, func(program.Ref) { found = true })
	return found
}

// Resources visits the references to resources of d and of the values (variables, locals, outputs, module calls) that
// it depends on. It does not follow references of resources and providers.
func (r *Analysis) Resources(d program.Decl, visit func(program.Ref)) {
	r.references(d, func(ref program.Ref) {
		if r.prog.Decls()[ref.To].Kind == program.Resource {
			visit(ref)
		}
	})
}

// references visits the same references as Resources, and references to provider configurations.
func (r *Analysis) references(d program.Decl, visit func(program.Ref)) {
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

// Recorded returns the dependencies of a resource that the state stores: the managed and data resources that it refers
// to, directly, through values, through ephemeral resources and through provider settings. If throughData is true, they
// include the dependencies of data sources: a data source that the state lacks leads to none.
func (r *Analysis) Recorded(d program.Decl, throughData bool) []addr.Resource {
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
			r.references(ref.To, visit)
		case to.Resource != self:
			if out = append(out, to.Resource); throughData && to.Resource.Mode == addr.Data {
				r.references(ref.To, visit)
			}
		}
	}
	r.references(d, visit)
	return out
}
