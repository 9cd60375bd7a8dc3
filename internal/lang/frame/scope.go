package frame

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// scope is the state of one evaluation in a frame: an instance, the face whose values are read (Before: prior state,
// After: planned state), and the outcome so far. Scopes come from a pool, so that an evaluation need not allocate one.
// In this file, a cell is the kept value of a variable, local or output.
type scope struct {
	expr.Env
	f     *Frame
	face  Face
	d     *program.Def // the declaration to which count, each and self belong
	key   addr.Key     // the instance of d, if d is repeated
	self  *cty.Value   // the value of self; nil means that self is not available
	tried *cty.Value   // while validation checks the rules of the variable d: the value of d; all other variables are unknown then
	pair  *eachPair    // each.key and each.value of an import block; nil otherwise
	depth int          // the number of cells that are being computed around this evaluation
	from  *scope       // the evaluation that needs the value of this cell; nil if no evaluation does
	cell  *program.Def // the cell that this evaluation computes; nil if it computes none
	what  string       // the purpose of a static evaluation, for messages

	uuids map[hcl.Range]int // the number of calls of uuid so far, by position

	meter meter
	early bool // the object of an instance was missing, because an ephemeral resource is not open or its slot is still empty
}

// references returns the values of the names in an expression. It is the expr.Scope of the evaluation s (eval.go).
type references struct{ s *scope }

var scopes = sync.Pool{New: func() any {
	s := &scope{}
	s.Init()
	return s
}}

// eachPair has each.key and each.value for one element of a for_each.
type eachPair struct{ key, value cty.Value }

// newScope takes a scope for one evaluation from the pool. The caller returns it to the pool with the method release.
func newScope(f *Frame, face Face, bag *diag.Bag) *scope {
	s := scopes.Get().(*scope)
	s.f, s.face = f, face
	s.meter.env, s.meter.budget = &s.Env, f.w.budget
	s.Scope, s.Meter, s.Bag, s.Names, s.Validate = references{s}, &s.meter, bag, &f.w.names, f.w.o.Validate
	s.Ctx.Functions = f.w.table
	if f.w.o.UUIDs != nil {
		s.Again = s.uuid
	}
	return s
}

// uuid returns the result of a call of uuid at a position: the result from an earlier round of the command, or the
// result of call.
func (s *scope) uuid(at hcl.Range, call func() (cty.Value, hcl.Diagnostics)) (cty.Value, hcl.Diagnostics) {
	if s.uuids == nil {
		s.uuids = map[hcl.Range]int{}
	}
	n := s.uuids[at]
	s.uuids[at]++
	return s.f.w.o.UUIDs.get(uuidCall{at, s.f.addr, s.d, s.cell, s.key, n}, call)
}

func (s *scope) release() {
	*s = scope{Env: s.Fresh()}
	scopes.Put(s)
}

// of sets the declaration and the instance to which the evaluation belongs, and returns s. d is nil for an expression
// outside of declarations.
func (s *scope) of(d *program.Def, key addr.Key) *scope {
	if s.d, s.key = d, key; d != nil {
		s.Block = d.At
	}
	return s
}

// outcome returns the status of the evaluation so far: Broken, Failed or OK.
func (s *scope) outcome() Status {
	switch {
	case s.Broken:
		return Broken
	case s.Failed:
		return Failed
	}
	return OK
}

// below records that the evaluation s computes a cell that another evaluation needs. The parameter from is the other
// evaluation, and may be nil.
func (s *scope) below(from *scope) {
	s.from = from
	if from != nil {
		s.depth = from.depth + 1
	}
}

// took adds the marks, diagnostics and outcome of r, the result of another cell, to the evaluation s, which has read
// that cell.
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

// split returns v, a result of the evaluation, with its marks as a list beside the value.
func (s *scope) split(v cty.Value) mark.Value {
	if !s.Marked {
		return mark.Plain(v)
	}
	return mark.Split(v)
}
