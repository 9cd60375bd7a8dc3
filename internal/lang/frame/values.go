package frame

import (
	"math"
	"strings"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// value returns the result of the cell of d, a variable, local or output, on one face (before or after the changes of
// the run). The parameter from is the evaluation that needs the value, or nil.
func (f *Frame) value(d *program.Def, face Face, from *scope) *result {
	c := &f.vals[2*d.Index+int32(f.faceOf(d, face))]
	if d.Once != nil && !f.w.o.Closed.Has(shortcut.Constants) {
		c = d.Once.Get(func() any { return &cell{} }).(*cell)
	}
	if f.w.static && from != nil && (from.cell == d && from.f == f || from.inside(f, d)) {
		return compute(f, d, face, from) // the cell needs its own value; compute reports the cycle
	}
	return c.get(&f.w.fills, func() *result { return compute(f, d, face, from) })
}

// compute evaluates the cell of d, and adds the marks that the declaration requests. If the evaluation fails or the
// value is too large, the value is unknown, and the outcome is not OK.
func compute(f *Frame, d *program.Def, face Face, from *scope) *result {
	var bag diag.Bag
	now := f.w.fills.now()
	s := newScope(f, face, &bag)
	defer s.release()
	s.below(from)
	s.cell = d
	if !s.deeper(d) {
		return &result{val: cty.DynamicVal, rest: mark.Plain(cty.DynamicVal), outcome: Broken, diags: bag.List()}
	}
	var v cty.Value
	switch {
	case !compiledInTime(f, d, s):
		v = cty.DynamicVal
	case d.Kind == program.Variable:
		v = inputVariable{s, d}.value()
	case d.Kind == program.Local:
		v = s.Eval(d.Value)
	case d.Kind == program.Output:
		v = moduleOutput{s, d}.value()
	}
	out := &result{outcome: s.outcome(), diags: bag.List()}
	if s.early {
		out.early = now
	}
	if out.outcome == OK && !s.checkValueSize(d, v) {
		out.outcome, out.diags = Broken, bag.List()
	}
	if out.outcome != OK {
		v = cty.DynamicVal
	}
	if out.outcome == OK && d.Kind == program.Variable && d.Src.Var.Ephemeral {
		f.w.names.Learn(v.Type(), d.Src.Var.Type)
		f.w.o.Run.Guard(f.addr, d.Name, v)
	}
	marked := false
	if s.Marked { // otherwise no value of the evaluation has marks
		v, marked = via(v, nameOf(f, d), d.At)
	}
	out.val = withDeclaredMarks(f, d, v)
	out.rest = mark.Plain(out.val)
	if marked || out.val.IsMarked() {
		out.rest = mark.Split(out.val)
	}
	return out
}

// via adds a variable, local or output, with its name and position, to the origin of the marks of v. If v has no marks,
// it returns v and false.
func via(v cty.Value, name string, at diag.Range) (cty.Value, bool) {
	rest := mark.Split(v)
	if len(rest.Marks) == 0 {
		return v, false
	}
	return rest.Via(name, at).Join(), true
}

// withDeclaredMarks adds the marks that a declaration requests with the arguments sensitive and ephemeral.
func withDeclaredMarks(f *Frame, d *program.Def, v cty.Value) cty.Value {
	sensitive, ephemeral := false, false
	switch d.Kind {
	case program.Variable:
		sensitive, ephemeral = d.Src.Var.Sensitive, d.Src.Var.Ephemeral
	case program.Output:
		sensitive, ephemeral = d.Src.Out.Sensitive, d.Src.Out.Ephemeral
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

// read returns the value of a variable, local or output, and adds its status, diagnostics and marks to the evaluation
// s.
func (s *scope) read(f *Frame, d *program.Def) cty.Value {
	r := f.value(d, s.face, s)
	s.took(r)
	return r.val
}

// compiledInTime compiles a local or an argument when a static evaluation first needs it. A static evaluation happens
// before the configuration is compiled. If the compilation fails, or the value needs itself, compiledInTime reports an
// error and returns false.
func compiledInTime(f *Frame, d *program.Def, s *scope) bool {
	if !f.w.static {
		return true
	}
	if s.inside(f, d) {
		s.Error(diag.Errorf("Cycle", "The value of %s depends on itself: %s.", nameOf(f, d), s.trail()).At(d.At))
		return false
	}
	ok := true
	switch {
	case d.Kind == program.Local:
		ok = f.n.Local(d, s.trail(), s.Bag)
	case d.Kind == program.Variable && f.parent != nil:
		ok = f.parent.n.Inputs(f.parent.u.Defs[f.n.Call], s.trail(), s.Bag)
	}
	s.Broken = s.Broken || !ok
	return ok
}

// inside reports whether the evaluation s is a part of the computation of the cell of d. Only a static evaluation needs
// this check, because otherwise the compiler has detected cycles.
func (s *scope) inside(f *Frame, d *program.Def) bool {
	for p := s.from; p != nil; p = p.from {
		if p.f == f && p.cell == d {
			return true
		}
	}
	return false
}

// trail returns the chain of values that need one another, for messages. It leads from the cell that is being computed
// to the purpose of the evaluation.
func (s *scope) trail() string {
	var parts []string
	for p := s; p != nil; p = p.from {
		switch {
		case p.cell != nil:
			parts = append(parts, nameOf(p.f, p.cell))
		case p.what != "":
			parts = append(parts, p.what)
		}
		if s != p && p.cell == s.cell && p.cell != nil && p.f == s.f {
			break
		}
	}
	return strings.Join(parts, " ← ")
}

// moduleOutput evaluates one output of a module instance.
type moduleOutput struct {
	s *scope
	d *program.Def
}

// value evaluates the expression, converts the result, and checks its marks. After an error, the result is unknown. For
// a root output, types that contain names made from ephemeral text are removed from the result.
func (o moduleOutput) value() cty.Value {
	v := o.given()
	if o.s.outcome() != OK {
		return cty.DynamicVal
	}
	if o.d.Src.Out.Type != cty.NilType {
		if o.d.Src.Out.Defaults != nil && !v.IsNull() {
			unmarked, remark := mark.Unmark(v)
			v = remark(o.d.Src.Out.Defaults.Apply(unmarked))
		}
		out, err := convert.To(v, o.d.Src.Out.Type)
		if err != nil {
			o.s.Error(o.s.WithValues(diag.Errorf("Invalid output value", "The value expression does not match the type constraint of output %q: %s.", o.d.Name, expr.ConversionText(err)).At(o.d.Value.Range()), o.d.Value, o.s.Ctx))
			return cty.DynamicVal
		}
		v = out
	}
	o.borders(v)
	if o.s.f.parent == nil {
		v = o.s.f.w.names.Forget(v, cty.DynamicPseudoType)
	}
	return v
}

// given returns the value of the output's expression. If given outputs replace the module instance, it returns the
// replacement, or null for an output without a replacement.
func (o moduleOutput) given() cty.Value {
	if !o.s.f.replaced {
		return o.s.Eval(o.d.Value)
	}
	if v, ok := o.s.f.outputs[o.d.Name]; ok {
		return v
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// borders reports an error if the value of an output is ephemeral or sensitive and the output does not declare that, or
// if the value of a root output contains infinity.
func (o moduleOutput) borders(v cty.Value) {
	if o.s.f.parent == nil && !o.s.Finite(v, "output "+o.d.Name, o.d.Value, o.s.Ctx) {
		return
	}
	if !o.d.Src.Out.Ephemeral && o.s.Marked {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok {
			o.ephemeral(m)
			return
		}
	}
	if o.s.f.parent == nil && !o.d.Src.Out.Sensitive && o.s.Marked && mark.Anywhere(v, mark.Sensitive) {
		o.s.Error(diag.Errorf("Output refers to sensitive values", "An output of the root module that contains sensitive data must be marked as sensitive, so that it is not exported by accident. To export it, add this argument:\n    sensitive = true").At(o.d.At))
	}
}

func (o moduleOutput) ephemeral(m mark.At) {
	at := expr.InsideExpr(o.d.Value, o.d.Value.Range(), m.Path)
	if o.s.f.parent != nil {
		o.s.Error(diag.Errorf("Output not marked as ephemeral", "The value is ephemeral. Add `ephemeral = true` to this output. The calling module can then use it only where ephemeral values are accepted.%s", trailOf(m)).At(at))
		return
	}
	o.s.Error(diag.Errorf("Output not marked as ephemeral", "Outputs of the root module are stored in the state, so the value of output %q cannot be ephemeral. Remove the ephemeral part of the value.%s", o.d.Name, trailOf(m)).At(at))
	o.s.Bag.Add(diag.Warningf("Ephemeral value in root module output", "Use ephemeralasnull(...) for the value of output %q. It replaces the ephemeral parts with null.", o.d.Name).At(at))
}

// deeper reports whether the chain of declarations that need one another may become longer by one. If not, it adds an
// error.
func (s *scope) deeper(d *program.Def) bool {
	if s.depth <= mostDepth {
		return true
	}
	s.Error(diag.Errorf("Evaluation too deep", "More than %d declarations depend on each other in a chain here. Shorten the chain.", mostDepth).At(d.At))
	return false
}

// checkValueSize reports whether the value of a cell is small enough for other evaluations. If not, it adds an error.
// Parts of values are shared in memory. So a few declarations, each of which contains the previous one several times,
// can have a value that is small in memory, but has so many elements that visiting all of them never ends.
func (s *scope) checkValueSize(d *program.Def, v cty.Value) bool {
	most := s.f.w.budget.l.Elements
	c := ctyvalue.Contents{MostElements: most, MostBytes: math.MaxInt64}
	if !mark.Look(&c, v) {
		s.Error(diag.Errorf("Value too large", "The value of %s has more than %d elements. Check whether it contains the same large value several times, or raise the limit with LETHE_LIMITS=elements=NUMBER.", nameOf(s.f, d), most).At(d.At))
		return false
	}
	return c.Elements < bigValue && c.Bytes < bigValue*textPart || s.meter.watch(d.At)
}
