package lang

import (
	"reflect"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// scope is what one evaluation happens in: a frame, a face, an instance. Our expression nodes find
// it in the root of the library's evaluation context, under a name that no identifier can have.
// Scopes come from a pool: an evaluation makes none of its own.
type scope struct {
	f     *Frame
	face  Face
	d     *decl    // the declaration whose repetition key and self are meant
	key   addr.Key // the instance, where d repeats
	self  *cty.Value
	bag   *diag.Bag
	each  *repeated // for_each values that belong to no declaration: of import blocks
	depth int       // cells being computed around this evaluation
	from  *scope    // the evaluation that needs this cell; nil at the top
	cell  *decl     // the cell being computed; nil at the top
	what  string    // what a static evaluation is for

	elements int  // made by this evaluation
	work     int  // done by functions in its loops
	exceeded bool // they are too many, as was reported
	// marked is set once something with a mark was read or made. As long as it is not, nobody needs
	// to look through a result for marks.
	marked bool
	early  bool        // a lease that is not open was read
	seen   []cty.Value // arguments of the calls that are running

	explaining bool // values are collected for a diagnostic: do not collect for one about that

	failed bool // something that was read has failed, and that is reported elsewhere
	broken bool // something that was read is broken, and that is in the bag

	ctx *hcl.EvalContext // the root; its only variable leads back here
}

// ctxOf is a context of the library inside a scope.
type ctxOf = *hcl.EvalContext

const scopeName = "\x00"

var scopeType = cty.Capsule("scope", reflect.TypeFor[scope]())

var scopes = sync.Pool{New: func() any {
	s := &scope{}
	s.ctx = &hcl.EvalContext{Variables: map[string]cty.Value{scopeName: cty.CapsuleVal(scopeType, s)}}
	return s
}}

// scope makes the scope of one evaluation; release gives it back.
func (f *Frame) scope(face Face, bag *diag.Bag) *scope {
	s := scopes.Get().(*scope)
	s.f, s.face, s.bag = f, face, bag
	s.ctx.Functions = f.w.functions(f)
	return s
}

func (s *scope) release() {
	*s = scope{ctx: s.ctx, seen: s.seen[:0]}
	s.ctx.Functions = nil
	scopes.Put(s)
}

// of sets the instance that the scope belongs to.
func (s *scope) of(d *decl, key addr.Key) *scope {
	s.d, s.key = d, key
	return s
}

// scopeOf finds the scope of a context.
func scopeOf(ctx *hcl.EvalContext) *scope {
	if ctx == nil {
		return nil
	}
	for p := ctx.Parent(); p != nil; p = ctx.Parent() {
		ctx = p
	}
	v, ok := ctx.Variables[scopeName]
	if !ok {
		return nil
	}
	return v.EncapsulatedValue().(*scope)
}

// outcome is how the evaluation went, with what the library had to say already in the bag.
func (s *scope) outcome() Outcome {
	switch {
	case s.broken:
		return Broken
	case s.failed:
		return Failed
	}
	return OK
}

// eval evaluates a compiled expression. The value of a failed evaluation is not to be used.
func (s *scope) eval(e hclsyntax.Expression) cty.Value { return s.evalIn(e, s.ctx) }

// evalIn is eval in a child context.
func (s *scope) evalIn(e hclsyntax.Expression, ctx *hcl.EvalContext) cty.Value {
	if lit, ok := e.(*hclsyntax.LiteralValueExpr); ok {
		return lit.Val
	}
	v, diags := e.Value(ctx)
	if len(diags) > 0 {
		s.report(diags)
	}
	return v
}

// error reports a mistake found while evaluating.
func (s *scope) error(d diag.Diagnostic) {
	s.bag.Add(d)
	if d.Severity == diag.Error {
		s.broken = true
	}
}

// functions is the table of functions; every frame of a walk shares one for each module directory.
func (w *walk) functions(f *Frame) map[string]function.Function { return w.table }
