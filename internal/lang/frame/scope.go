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

// scope is the state of one evaluation in a frame: an instance, the face whose values are read (Before or After), and
// the outcome so far. Scopes come from a pool, so that an evaluation need not allocate one. In this file, a cell is the
// remembered value of a variable, local or output.
type scope struct {
	expr.Env
	f     *Frame
	face  Face
	d     *program.Def // the declaration to which count, each and self belong
	key   addr.Key     // the instance of d, if d is repeated
	self  *cty.Value   // the value of self; nil if self is not available
	tried *cty.Value   // while validation checks the rules of variable d: its value; other variables are unknown
	pair  *eachPair    // each.key and each.value of an import block, which has no instances
	depth int          // number of cells being computed around this evaluation
	from  *scope       // the evaluation that needs the value of this cell; nil at the top
	cell  *program.Def // the cell being computed; nil at the top
	what  string       // the purpose of a static evaluation, for messages

	uuids map[hcl.Range]int // number of calls of uuid, by place

	meter meter
	early bool // the object of an instance was missing: an ephemeral resource is not open, or its slot is not filled
}

// references returns the values of the names in an expression. It is the expr.Scope of an evaluation (eval.go).
type references struct{ s *scope }

var scopes = sync.Pool{New: func() any {
	s := &scope{}
	s.Init()
	return s
}}

// eachPair holds each.key and each.value for one element.
type eachPair struct{ key, value cty.Value }

// newScope takes a scope for one evaluation from the pool. The method release returns it.
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

// uuid returns the result of a call of uuid at a place (see Env.Again and UUIDs).
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

// of sets the declaration and the instance to which the scope belongs, and returns the scope. d is nil for an
// expression outside of declarations.
func (s *scope) of(d *program.Def, key addr.Key) *scope {
	if s.d, s.key = d, key; d != nil {
		s.Block = d.At
	}
	return s
}

// outcome returns the outcome of the evaluation so far.
func (s *scope) outcome() Status {
	switch {
	case s.Broken:
		return Broken
	case s.Failed:
		return Failed
	}
	return OK
}

// below records that the evaluation s computes a value for the evaluation from. from may be nil.
func (s *scope) below(from *scope) {
	s.from = from
	if from != nil {
		s.depth = from.depth + 1
	}
}

// took adds the marks, diagnostics and outcome of r to the evaluation, which has read the value of r.
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

// split separates the marks from v, a result of the evaluation.
func (s *scope) split(v cty.Value) mark.Value {
	if !s.Marked {
		return mark.Plain(v)
	}
	return mark.Split(v)
}
