package frame

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// StaticFrame evaluates expressions that must be known before a program exists: module sources and versions, settings
// of backends and encryption. These expressions may use variables, locals, pure functions, paths and the workspace, but
// no objects. It is not safe for concurrent use.
type StaticFrame struct {
	f *Frame
}

// Static returns the static frame of a root module. vars replaces o.Variables.
func Static(m *config.Module, vars map[string]Given, o Options) *StaticFrame {
	o.Variables = vars
	w := &walk{o: o.in(m.Dir), budget: newBudget(o.Limits), roots: map[string]cty.Value{}, static: true}
	w.table = functionTable(&w.o)
	n := &program.Node{Config: &config.Node{Module: m}, Unit: program.NewUnit(m)}
	return &StaticFrame{newFrame(w, n, nil, addr.NoKey)}
}

// Child returns the static frame of a module called from this module. Its variables are the static arguments of the
// call.
func (s *StaticFrame) Child(call *config.Call, m *config.Module) *StaticFrame {
	parent := s.f
	i, ok := parent.u.Index(program.Call, call.Name)
	if !ok {
		panic(fmt.Sprintf("lang: there is no call %q", call.Name))
	}
	n := &program.Node{
		Config: &config.Node{Path: parent.n.Config.Path.Child(call.Name), Module: m, Call: call, Parent: parent.n.Config},
		Unit:   program.NewUnit(m), Parent: parent.n, Call: i,
	}
	w := &walk{o: parent.w.o, budget: parent.w.budget, table: parent.w.table, roots: parent.w.roots, static: true}
	return &StaticFrame{newFrame(w, n, parent, addr.NoKey)}
}

// Eval evaluates an expression. If that fails, it returns false, and the error is in the bag or in the bag of an
// earlier evaluation. The parameter what names the expression in messages, such as "the source of module.a".
func (s *StaticFrame) Eval(e hcl.Expression, what string, bag *diag.Bag) (mark.Value, bool) {
	return s.eval(e, what, nil, program.AllowedRefs{}, bag)
}

// EvalWith evaluates an expression of a test file. The expression may also use the given names, and functions such as
// uuid whose result varies. If the evaluation fails, it returns false.
func (s *StaticFrame) EvalWith(e hcl.Expression, what string, names map[string]cty.Value, bag *diag.Bag) (mark.Value, bool) {
	return s.eval(e, what, names, program.AllowedRefs{Names: Scope{Names: names}.names(), Vary: true}, bag)
}

func (s *StaticFrame) eval(e hcl.Expression, what string, names map[string]cty.Value, may program.AllowedRefs, bag *diag.Bag) (mark.Value, bool) {
	compiled, ok := s.f.n.Expression(e, may, what, bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), false
	}
	sc := newScope(s.f, After, bag)
	defer sc.release()
	sc.what = what
	defer sc.know(names)()
	v := sc.Eval(compiled)
	return sc.split(v), sc.outcome() == OK
}

// Body evaluates a body against a schema. If that fails, it returns false, and the error is in the bag or in the bag of
// an earlier evaluation. The parameter what names the body in messages.
func (s *StaticFrame) Body(b hcl.Body, sch *schema.Block, what string, bag *diag.Bag) (mark.Value, bool) {
	compiled, ok := s.f.n.Block(b, sch, program.AllowedRefs{}, what, bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), false
	}
	sc := newScope(s.f, After, bag)
	defer sc.release()
	sc.what = what
	v := compiled.Eval(&sc.Env, sc.Ctx)
	return sc.split(v), sc.outcome() == OK
}

// Where returns the range of the text in the body b that sets the value at a path. If the path is empty, it returns its
// argument otherwise.
func (s *StaticFrame) Where(b hcl.Body, sch *schema.Block, otherwise diag.Range, path cty.Path) diag.Range {
	return s.f.n.Where(b, sch, otherwise, path)
}

// Lasting reports ephemeral and sensitive values in the settings of a backend, which init stores and commands print. It
// accepts such values at paths for which except returns true, because these settings are not stored. It ignores all
// other mistakes, because the command line may complete the settings, and because Body reports mistakes later. Lasting
// returns true if it has reported no error.
func (s *StaticFrame) Lasting(b hcl.Body, what string, except func(cty.Path) bool, bag *diag.Bag) bool {
	ok := true
	for _, a := range attributesIn(b) {
		v, _ := s.Eval(a.Expr, what, &diag.Bag{})
		i := slices.IndexFunc(v.Marks, func(m mark.At) bool { return !except(append(cty.GetAttrPath(a.Name), m.Path...)) })
		if i < 0 {
			continue
		}
		ok = false
		m, e := v.Marks[i], program.Native(a.Expr)
		d := diag.Errorf("Backend config contains sensitive values", "Backend settings are stored and printed in plain text, so they cannot be sensitive.%s\n\nOnly secrets of the backend, such as its password, can be sensitive: they are not stored. For other settings, use a variable that is not sensitive, or -backend-config.", trailOf(m))
		if m.Tag == mark.Ephemeral {
			d = diag.Errorf("Backend config contains ephemeral values", "Backend settings are stored, so they cannot be ephemeral.%s\n\nOnly secrets of the backend, such as its password, can be ephemeral: they are not stored.", trailOf(m))
		}
		bag.Add(d.At(expr.InsideExpr(e, e.Range(), m.Path)))
	}
	return ok
}

// Refers reports whether the settings in a body refer to variables or other names.
func Refers(b hcl.Body) bool {
	return slices.ContainsFunc(attributesIn(b), func(a *hcl.Attribute) bool { return len(a.Expr.Variables()) > 0 })
}

// attributesIn returns the attributes of a body and of the blocks in it, in the order of the source.
func attributesIn(b hcl.Body) []*hcl.Attribute {
	attrs, _ := b.JustAttributes()
	out := slices.Collect(maps.Values(attrs))
	if n, ok := b.(*hclsyntax.Body); ok {
		for _, inner := range n.Blocks {
			out = append(out, attributesIn(inner.Body)...)
		}
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int { return diag.CompareRanges(a.Range, b.Range) })
	return out
}

// StaticSource evaluates the source of a module call, for the loader of modules. parent is the module that contains the
// call. If the source cannot be evaluated or is not a valid address, StaticSource adds an error and returns false. In
// the result, slashes replace the backslashes of a Windows path.
func StaticSource(parent *config.Node, call *config.Call, o Options, bag *diag.Bag) (string, bool) {
	s, ok := staticString(parent, call, call.Source, "source", o, bag)
	s = config.Slashed(s)
	if ok && isWord(s) {
		bag.Add(diag.Errorf("Invalid module source address", "The source %q of module.%s is not an address. For a directory beside this one, begin with a dot: %q. For a module in a registry, write namespace/name/provider.", s, call.Name, "./"+s).At(call.SourceRange))
		return "", false
	}
	return s, ok
}

// isWord reports whether a source is probably a directory whose "./" was forgotten. Other kinds of sources contain a
// colon, a host, or two slashes.
func isWord(source string) bool {
	return source != "." && source != ".." && !strings.ContainsAny(source, ":@\\") && !strings.HasPrefix(source, "/") && strings.Count(source, "/") < 2 &&
		!strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") && !strings.Contains(strings.SplitN(source, "/", 2)[0], ".")
}

// StaticVersion evaluates the version argument of a module call. It returns "" if the argument is missing or null. If
// the argument cannot be evaluated or is the literal "", StaticVersion adds an error and returns false.
func StaticVersion(parent *config.Node, call *config.Call, o Options, bag *diag.Bag) (string, bool) {
	if call.Versions == nil {
		return "", true
	}
	text, ok := staticString(parent, call, call.Versions, "version", o, bag)
	if _, literal := expr.LiteralKey(program.Native(call.Versions)); ok && literal && text == "" {
		bag.Add(diag.Errorf("Invalid version constraint", "The version of module.%s is empty. Write a constraint such as \">= 1.6\", or remove the argument to select the newest version.", call.Name).At(call.Versions.Range()))
		return "", false
	}
	return text, ok
}

func staticString(parent *config.Node, call *config.Call, e hcl.Expression, arg string, o Options, bag *diag.Bag) (string, bool) {
	if v, ok := expr.LiteralKey(program.Native(e)); ok {
		return v, true
	}
	what := parent.Path.Child(call.Name).String() + "." + arg
	v, ok := staticOf(parent, o).Eval(e, what, bag)
	if !ok {
		return "", false
	}
	return plainString(v, what, arg == "version", e.Range(), bag)
}

// plainString converts a value to a string. It adds an error and returns false if the value is marked, unknown or not a
// string. For null it returns "" and true if nullable is true; otherwise null is an error, too. The parameter what
// names the value in an error.
func plainString(v mark.Value, what string, nullable bool, at diag.Range, bag *diag.Bag) (string, bool) {
	fail := func(title, detail string) (string, bool) {
		bag.Add(diag.Errorf(title, "%s", detail).At(at))
		return "", false
	}
	switch {
	case v.Has(mark.Ephemeral):
		return fail("Ephemeral value not allowed", "This value is ephemeral and cannot be used as "+what+".")
	case v.Has(mark.Sensitive):
		return fail("Sensitive value not allowed", "This value is sensitive and cannot be used as "+what+".")
	}
	const unsuitable = "Unsuitable value type"
	s, err := convert.To(v.Raw, cty.String)
	switch {
	case err != nil:
		return fail(unsuitable, "The value of "+what+" must be a string: "+expr.ConversionText(err)+".")
	case !s.IsKnown():
		return fail(unsuitable, "Unsuitable value: the value of "+what+" must be known before the plan.")
	case s.IsNull() && nullable:
		return "", true
	case s.IsNull():
		return fail(unsuitable, "Unsuitable value: null value is not allowed for "+what+".")
	}
	return s.AsString(), true
}

// staticOf returns the static frame of a module in the tree.
func staticOf(n *config.Node, o Options) *StaticFrame {
	if n.Parent == nil {
		return Static(n.Module, o.Variables, o)
	}
	return staticOf(n.Parent, o).Child(n.Call, n.Module)
}
