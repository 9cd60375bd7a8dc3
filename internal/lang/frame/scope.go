package frame

import (
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// scope is what one evaluation of a frame happens in: a face, an instance. Scopes come from a pool: an evaluation
// makes none of its own.
type scope struct {
	expr.Env
	f     *Frame
	face  Face
	d     *program.Def // the declaration whose repetition key and self are meant
	key   addr.Key     // the instance, where d repeats
	self  *cty.Value
	tried *cty.Value   // while validating: the value of variable d, whose rules are tried; all other variables are unknown
	pair  *eachPair    // each.key and each.value of an import block, which has no instances
	depth int          // cells being computed around this evaluation
	from  *scope       // the evaluation that needs this cell; nil at the top
	cell  *program.Def // the cell being computed; nil at the top
	what  string       // what a static evaluation is for

	spent    int       // for the elements that loops make and functions in them go through
	watched  int       // spent since the last look at memory and time
	began    time.Time // the first of these looks
	exceeded bool      // a limit is passed, as was reported
	early    bool      // a lease that is not open was read
}

var scopes = sync.Pool{New: func() any {
	s := &scope{}
	s.Init()
	return s
}}

// eachPair is what each.key and each.value are for one element.
type eachPair struct{ key, value cty.Value }

// scope makes the scope of one evaluation; release gives it back.
func (f *Frame) scope(face Face, bag *diag.Bag) *scope {
	s := scopes.Get().(*scope)
	s.f, s.face = f, face
	s.Scope, s.Meter, s.Bag, s.Names, s.Validate = s, s, bag, &f.w.names, f.w.o.Validate
	s.Ctx.Functions = f.w.table
	return s
}

func (s *scope) release() {
	*s = scope{Env: s.Fresh()}
	scopes.Put(s)
}

// of sets the instance that the scope belongs to.
func (s *scope) of(d *program.Def, key addr.Key) *scope {
	if s.d, s.key = d, key; d != nil {
		s.Block = d.At
	}
	return s
}

// outcome is how the evaluation went, with what the library had to say already in the bag.
func (s *scope) outcome() Outcome {
	switch {
	case s.Broken:
		return Broken
	case s.Failed:
		return Failed
	}
	return OK
}

// below says that an evaluation serves another one.
func (s *scope) below(from *scope) {
	s.from = from
	if from != nil {
		s.depth = from.depth + 1
	}
}

// took notes how a value that was read came about.
func (s *scope) took(r *result) {
	s.Marked = s.Marked || len(r.rest.Marks) > 0
	s.early = s.early || r.early != 0
	if r.outcome == OK {
		if len(r.diags) > 0 {
			r.replay(s.Bag)
		}
		return
	}
	r.replay(s.Bag)
	if r.outcome == Broken {
		s.Broken = true
	} else {
		s.Failed = true
	}
}

// split takes the marks off a result of the evaluation.
func (s *scope) split(v cty.Value) mark.Value {
	if !s.Marked {
		return mark.Plain(v)
	}
	return mark.Split(v)
}
