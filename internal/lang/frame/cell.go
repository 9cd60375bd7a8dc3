package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// A cell is a value that is computed when first asked for and remembered. Cells change nothing and
// wait for nothing but other cells (invariant I5); since the program has no cycles, the locks of
// cells being computed are always taken in the order of the references, and none waits for itself.
//
// A cell keeps what it had to report: every evaluation that asks gets the same diagnostics into its own bag,
// where repeats fall out. So a broken value is an error for everyone who needs it, even if the
// first to ask was a check, whose errors are collected apart.

type cell struct {
	mu  sync.Mutex
	got atomic.Pointer[result]
}

// result is a computed cell.
type result struct {
	val     cty.Value // with cty marks, as references see it
	rest    mark.Value
	outcome Outcome
	diags   []diag.Diagnostic
	early   fillCount
}

// fillCount is when something was worked out without a value that was not there yet: a lease that is not
// open, or a slot that is empty. It is zero if nothing was missing, and what was found stands. It stands
// as well as long as no lease is opened and nothing that was missed is filled.
type fillCount uint64

// fillCount is this one.
func (w *walk) fillCount() fillCount { return fillCount(w.fills.Load() + 1) }

func (m fillCount) stands(w *walk) bool { return m == 0 || m == w.fillCount() }

// get computes the cell once, or again if it was asked for too early.
func (c *cell) get(w *walk, compute func() *result) *result {
	if r := c.got.Load(); r != nil && r.early.stands(w) {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.got.Load(); r != nil && r.early.stands(w) {
		return r
	}
	r := compute()
	c.got.Store(r)
	return r
}

// replay adds what a cell had to report to the bag of who asks.
func (r *result) replay(bag *diag.Bag) {
	if len(r.diags) > 0 {
		bag.Add(r.diags...)
	}
}

// value is the cell of a variable, local or output.
func (f *Frame) value(d *program.Def, face Face, from *scope) *result {
	c := &f.vals[2*d.Index+int32(f.faceOf(d, face))]
	if d.Once != nil && !f.w.o.Closed.Has(shortcut.Constants) {
		c = d.Once.Get(func() any { return &cell{} }).(*cell)
	}
	if f.w.static != nil && from != nil && (from.cell == d && from.f == f || from.inside(f, d)) {
		return f.compute(d, face, from) // it needs itself: reported there
	}
	return c.get(f.w, func() *result { return f.compute(d, face, from) })
}

// compute evaluates what a cell stands for.
func (f *Frame) compute(d *program.Def, face Face, from *scope) *result {
	var bag diag.Bag
	now := f.w.fillCount()
	s := f.scope(face, &bag)
	defer s.release()
	s.below(from)
	s.cell = d
	if !s.f.w.budget.deeper(s, d) {
		return &result{val: cty.DynamicVal, rest: mark.Plain(cty.DynamicVal), outcome: Broken, diags: bag.List()}
	}
	var v cty.Value
	switch {
	case !compiledInTime(f, d, s):
		v = cty.DynamicVal
	case d.Kind == program.Variable:
		v = s.variable(d)
	case d.Kind == program.Local:
		v = s.Eval(d.Value)
	case d.Kind == program.Output:
		v = s.output(d)
	}
	out := &result{outcome: s.outcome(), diags: bag.List()}
	if s.early {
		out.early = now
	}
	if out.outcome == OK && !f.w.budget.checkValueSize(s, d, v) {
		out.outcome, out.diags = Broken, bag.List()
	}
	if out.outcome != OK {
		v = cty.DynamicVal
	}
	if out.outcome == OK && d.Kind == program.Variable && d.Var.Ephemeral {
		f.w.names.Learn(v.Type(), d.Var.Type)
		f.w.o.Run.Guard(f, d.Name, v)
	}
	marked := false
	if s.Marked { // or it may be
		v, marked = via(v, nameOf(f, d), d.At)
	}
	out.val = withDeclaredMarks(f, d, v)
	out.rest = mark.Plain(out.val)
	if marked || out.val.IsMarked() {
		out.rest = mark.Split(out.val)
	}
	return out
}

// split takes the marks off a result of the evaluation.
func (s *scope) split(v cty.Value) mark.Value {
	if !s.Marked {
		return mark.Plain(v)
	}
	return mark.Split(v)
}

// via adds a cell to the way that marks came, if there are any.
func via(v cty.Value, name string, at diag.Range) (cty.Value, bool) {
	rest := mark.Split(v)
	if len(rest.Marks) == 0 {
		return v, false
	}
	return rest.Via(name, at).Join(), true
}

// withDeclaredMarks adds the marks that a declaration asks for.
func withDeclaredMarks(f *Frame, d *program.Def, v cty.Value) cty.Value {
	sensitive, ephemeral := false, false
	switch d.Kind {
	case program.Variable:
		sensitive, ephemeral = d.Var.Sensitive, d.Var.Ephemeral
	case program.Output:
		sensitive, ephemeral = d.Out.Sensitive, d.Out.Ephemeral
	}
	if !sensitive && !ephemeral {
		return v
	}
	why := &mark.Origin{What: nameOf(f, d), Range: d.At}
	if sensitive {
		v = mark.With(v, mark.Sensitive, why)
	}
	if ephemeral {
		v = mark.With(v, mark.Ephemeral, why)
	}
	return v
}

// nameOf is what an explanation calls a cell.
func nameOf(f *Frame, d *program.Def) string {
	switch d.Kind {
	case program.Variable:
		return "var." + d.Name
	case program.Local:
		return "local." + d.Name
	}
	if f.parent != nil {
		return "module." + f.n.Config.Call.Name + "." + d.Name
	}
	return "output." + d.Name
}

// below says that an evaluation serves another one.
func (s *scope) below(from *scope) {
	s.from = from
	if from != nil {
		s.depth = from.depth + 1
	}
}

// read reads a cell into an evaluation.
func (s *scope) read(f *Frame, d *program.Def) cty.Value {
	r := f.value(d, s.face, s)
	s.took(r)
	return r.val
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
