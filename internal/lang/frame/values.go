package frame

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// value is the cell of a variable, local or output.
func (f *Frame) value(d *program.Def, face Face, from *scope) *result {
	c := &f.vals[2*d.Index+int32(f.faceOf(d, face))]
	if d.Once != nil && !f.w.o.Closed.Has(shortcut.Constants) {
		c = d.Once.Get(func() any { return &cell{} }).(*cell)
	}
	if f.w.static && from != nil && (from.cell == d && from.f == f || from.inside(f, d)) {
		return f.compute(d, face, from) // it needs itself: reported there
	}
	return c.get(&f.w.fills, func() *result { return f.compute(d, face, from) })
}

// compute evaluates what a cell stands for.
func (f *Frame) compute(d *program.Def, face Face, from *scope) *result {
	var bag diag.Bag
	now := f.w.fills.now()
	s := f.scope(face, &bag)
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
	if out.outcome == OK && !s.checkValueSize(d, v) {
		out.outcome, out.diags = Broken, bag.List()
	}
	if out.outcome != OK {
		v = cty.DynamicVal
	}
	if out.outcome == OK && d.Kind == program.Variable && d.Var.Ephemeral {
		f.w.names.Learn(v.Type(), d.Var.Type)
		f.w.o.Run.Guard(f.addr, d.Name, v)
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

// read reads a cell into an evaluation.
func (s *scope) read(f *Frame, d *program.Def) cty.Value {
	r := f.value(d, s.face, s)
	s.took(r)
	return r.val
}

// compiledInTime compiles a local or an argument when a static evaluation first needs it.
func compiledInTime(f *Frame, d *program.Def, s *scope) bool {
	if !f.w.static {
		return true
	}
	if s.inside(f, d) {
		s.Error(diag.Errorf("Cycle", "The value of %s needs itself: %s.", nameOf(f, d), s.way()).At(d.At))
		return false
	}
	ok := true
	switch {
	case d.Kind == program.Local:
		ok = f.n.Local(d, s.way(), s.Bag)
	case d.Kind == program.Variable && f.parent != nil:
		ok = f.parent.n.Inputs(f.parent.u.Defs[f.n.Call], s.way(), s.Bag)
	}
	s.Broken = s.Broken || !ok
	return ok
}

// inside reports whether the evaluation serves the cell of d already: before a program is compiled
// cycles are not looked for yet.
func (s *scope) inside(f *Frame, d *program.Def) bool {
	for p := s.from; p != nil; p = p.from {
		if p.f == f && p.cell == d {
			return true
		}
	}
	return false
}

// way names what needs what, from the cell being computed to what was asked for.
func (s *scope) way() string {
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

// output is the value of an output.
func (s *scope) output(d *program.Def) cty.Value {
	o := d.Out
	v := s.given(d)
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	if o.Type != cty.NilType {
		if o.Defaults != nil && !v.IsNull() {
			bare, remark := mark.Bare(v)
			v = remark(o.Defaults.Apply(bare))
		}
		out, err := convert.To(v, o.Type)
		if err != nil {
			s.Error(s.WithValues(diag.Errorf("Invalid output value", "The value expression does not match the type constraint of output %q: %s.", d.Name, expr.ConversionText(err)).At(d.Value.Range()), d.Value, s.Ctx))
			return cty.DynamicVal
		}
		v = out
	}
	s.outputBorders(d, v)
	if s.f.parent == nil {
		v = s.f.w.names.Forget(v, cty.DynamicPseudoType)
	}
	return v
}

// given is the value that an output is given: by its expression, or by what replaces its module.
func (s *scope) given(d *program.Def) cty.Value {
	if !s.f.replaced {
		return s.Eval(d.Value)
	}
	if v, ok := s.f.outputs[d.Name]; ok {
		return v
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// outputBorders refuses what an output must not carry.
func (s *scope) outputBorders(d *program.Def, v cty.Value) {
	o := d.Out
	if s.f.parent == nil && !s.Finite(v, "output "+d.Name, d.Value, s.Ctx) {
		return
	}
	if !o.Ephemeral && s.Marked {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok {
			s.ephemeralOutput(d, m)
			return
		}
	}
	if s.f.parent == nil && !o.Sensitive && s.Marked && mark.Anywhere(v, mark.Sensitive) {
		s.Error(diag.Errorf("Output refers to sensitive values", "To reduce the risk of accidentally exporting sensitive data that was intended to be only internal, it is required that any root module output containing sensitive data be explicitly marked as sensitive, to confirm your intent.\n\nIf you do intend to export this data, annotate the output value as sensitive by adding the following argument:\n    sensitive = true").At(d.At))
	}
}

func (s *scope) ephemeralOutput(d *program.Def, m mark.At) {
	at := expr.InsideExpr(d.Value, d.Value.Range(), m.Path)
	if s.f.parent != nil {
		s.Error(diag.Errorf("Output not marked as ephemeral", "In order to allow this output to store ephemeral values add `ephemeral = true` attribute to it. The calling module can then use it only where ephemeral values are accepted.%s", wayOf(m)).At(at))
		return
	}
	s.Error(diag.Errorf("Output not marked as ephemeral", "Outputs of the root module are kept in the state, and ephemeral values cannot be. Output %q needs a value without anything ephemeral in it.%s", d.Name, wayOf(m)).At(at))
	s.Bag.Add(diag.Warningf("Ephemeral value in root module output", "Consider ephemeralasnull(...) around the value of output %q: it keeps everything else and stores null in place of what is ephemeral.", d.Name).At(at))
}
