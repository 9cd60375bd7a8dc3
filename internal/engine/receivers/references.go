package receivers

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Analysis answers questions about the direct and indirect references of a program's declarations. References have no
// cycles. Each question is one search that visits each declaration once, so its time is linear in the number of
// declarations and references. The methods may be called concurrently.
type Analysis struct {
	Any bool // the program declares ephemeral resources

	prog    *program.Program
	echoes  func(addr.Provider) bool // reports whether a provider echoes (returns) its settings in objects; nil: no provider does
	moving  []answer                 // by declaration: whether it is a managed resource or depends on one
	answers []answer                 // by declaration: whether it is an ephemeral resource or depends on one through values; nil: not computed yet

	mu         sync.Mutex
	receivedOf map[program.Decl][]Received // ephemeral resources that a declaration receives, computed so far
	repeats    map[program.Decl][]Received // ephemeral resources to which count or for_each refers, computed so far
	whole      map[program.Decl]bool       // ephemeral resources that are not opened by instance (ByInstance): they have conditions, or a declaration receives all their instances; nil: not computed yet
	exports    map[program.Decl]Received   // ephemeral resources that module outputs return; nil: not computed yet
	named      map[program.Decl]bool       // declarations to which another declaration refers; nil: not computed yet
}

// Received is an ephemeral resource that a declaration receives.
type Received struct {
	Of        program.Decl
	Instances []Instance     // the received instances, if each reference names a single instance; nil: all instances
	Through   []program.Decl // module outputs that return the value; set by Exported
}

// Keys returns the keys of the instances that a receiver uses. The parameter own is the key of the receiving instance.
// A nil result means all instances.
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

// For returns the key of the instance i of the ephemeral resource. The parameter own is the key of the receiving
// instance.
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

// Analyse returns the analysis of a compiled program. echoes reports whether a provider returns its settings in its
// answers; nil means that no provider does.
func Analyse(p *program.Program, echoes func(addr.Provider) bool) *Analysis {
	r := &Analysis{prog: p, echoes: echoes, moving: computeMoving(p), receivedOf: map[program.Decl][]Received{}, repeats: map[program.Decl][]Received{}}
	for _, d := range p.Decls() {
		r.Any = r.Any || d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
	}
	return r
}

// Leased reports whether a declaration is an ephemeral resource, or its value depends on one. Dependencies through
// managed resources, data sources and provider configurations do not count. For these three kinds the result is false.
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

// computeLeased returns, for each declaration, whether it is an ephemeral resource or depends on one through values.
// The answer is no for managed resources, data sources and provider configurations, even if they use an ephemeral
// resource. So a dependency through them does not count.
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

// computeMoving returns, for each declaration, whether its prior value (before the changes of the run) may differ from
// its planned value. The answer is yes for a managed resource, and for a declaration that depends on a managed
// resource, also through data sources, ephemeral resources and provider configurations. For all other declarations, the
// answer is no.
func computeMoving(p *program.Program) []answer {
	return propagate(p, func(d *program.Declaration) answer {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			return yes
		}
		return notAsked
	})
}

// propagate answers a question for each declaration. own returns the answer for a declaration, or notAsked. After
// notAsked, the answer is yes if it is yes for any declaration to which this declaration refers, and no otherwise.
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

// Steady reports whether the prior value of a declaration is always equal to its planned value. This is so if the
// declaration is not a managed resource and depends on no managed resource, directly or indirectly.
func (r *Analysis) Steady(d program.Decl) bool { return r.moving[d] == no }

// FromResources reports whether a declaration refers to resources, directly or through values. Resources to which only
// the settings of its provider refer do not count.
func (r *Analysis) FromResources(d program.Decl) bool {
	found := false
	r.Resources(d, func(program.Ref) { found = true })
	return found
}

// Resources visits the references to resources that a declaration has, directly or through values (variables, locals,
// outputs, module calls). It does not follow the references of resources and providers.
func (r *Analysis) Resources(d program.Decl, visit func(program.Ref)) {
	r.references(d, func(ref program.Ref) {
		if r.prog.Decls()[ref.To].Kind == program.Resource {
			visit(ref)
		}
	})
}

// references visits the same references as Resources, and also the references to provider configurations.
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

// Recorded returns the dependencies that the state stores for a resource: the managed and data resources to which it
// refers, directly, through values, through ephemeral resources and through provider settings. The resource itself is
// not among them. lacks reports whether the state may lack a dependency, and with it the dependencies of the dependency:
// Recorded follows its references, too.
func (r *Analysis) Recorded(d program.Decl, lacks func(*program.Declaration) bool) []addr.Resource {
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
			if out = append(out, to.Resource); lacks(to) {
				r.references(ref.To, visit)
			}
		}
	}
	r.references(d, visit)
	return out
}
