package code_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag/code"
	"golang.org/x/tools/go/packages"
)

// titles returns all titles of diagnostics in the sources, with the places that use them. An asterisk represents a part
// of a title that varies.
var titles = sync.OnceValues(func() (map[string][]string, error) {
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax,
		Env:  append(os.Environ(), "GOFLAGS=-mod=mod"),
	}
	pkgs, err := packages.Load(cfg, roots...)
	if err != nil {
		return nil, err
	}
	f := &flow{from: map[types.Object][]source{}, results: map[types.Object][][]ast.Expr{}, out: map[string][]string{}}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, e
		}
		if slices.ContainsFunc(foreign, func(f string) bool { return strings.HasSuffix(p.PkgPath, f) }) {
			continue
		}
		f.read(p)
	}
	f.follow()
	return f.out, nil
})

// roots are the packages that create diagnostics: Lethe's packages, and the packages of the HCL library whose
// diagnostics Lethe shows.
var roots = []string{
	"github.com/lethe-iac/lethe/internal/...",
	"github.com/hashicorp/hcl/v2",
	"github.com/hashicorp/hcl/v2/hclsyntax",
	"github.com/hashicorp/hcl/v2/json",
	"github.com/hashicorp/hcl/v2/ext/typeexpr",
}

// foreign are packages whose diagnostics have no code: they come from providers or tests.
var foreign = []string{"/provider/wire/wirepb", "/provider/providertest", "/provider/wire/wiretest"}

// silent are titles in the sources that no user sees with a code, with the reason.
var silent = map[string]string{
	"Failed to close file":           "the library's way to read JSON from disk is not used",
	"Failed to open file":            "the library's way to read JSON from disk is not used",
	"Message without a title from *": "a provider said it",
	"*":                              "it is passed on from somewhere that gives it a title",
	"":                               "it is a wire message that has none",
}

// flow holds the expressions that are assigned to each variable, field or parameter.
type flow struct {
	fset    *token.FileSet
	from    map[types.Object][]source
	results map[types.Object][][]ast.Expr // the results of each return statement of a function
	info    map[ast.Expr]*types.Info
	sinks   []source // expressions that are used as titles
	out     map[string][]string
}

// source is an expression, and the index of the result if the expression has several.
type source struct {
	expr  ast.Expr
	index int
	info  *types.Info
}

// read collects the assignments of a package, and the expressions that are used as titles.
func (f *flow) read(p *packages.Package) {
	f.fset = p.Fset
	info := p.TypesInfo
	for _, file := range p.Syntax {
		if strings.HasSuffix(p.Fset.Position(file.Pos()).Filename, "_test.go") {
			continue
		}
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return false
			}
			stack = append(stack, n)
			f.node(n, stack, info)
			return true
		})
	}
}

func (f *flow) node(n ast.Node, stack []ast.Node, info *types.Info) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, l := range n.Lhs {
			f.assign(l, pick(n.Rhs, i, len(n.Lhs), info), info)
		}
	case *ast.ValueSpec:
		for i, l := range n.Names {
			if len(n.Values) > 0 {
				f.assign(l, pick(n.Values, i, len(n.Names), info), info)
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			f.assign(n.Value, source{n.X, 0, info}, info)
		}
		if n.Key != nil {
			f.assign(n.Key, source{}, info)
		}
	case *ast.CompositeLit:
		f.composite(n, info)
	case *ast.CallExpr:
		f.call(n, info)
	case *ast.ReturnStmt:
		f.returns(n, stack, info)
	}
}

// pick returns the source of the value that an assignment of values to n variables gives to the i-th variable. If the
// numbers differ, values is one call with n results, and the source is the i-th result of the call.
func pick(values []ast.Expr, i, n int, info *types.Info) source {
	if len(values) == n {
		return source{values[i], 0, info}
	}
	return source{values[0], i, info}
}

func (f *flow) assign(to ast.Expr, s source, info *types.Info) {
	switch to := ast.Unparen(to).(type) {
	case *ast.Ident:
		if o := info.ObjectOf(to); o != nil {
			f.from[o] = append(f.from[o], s)
		}
	case *ast.SelectorExpr:
		if o := info.ObjectOf(to.Sel); o != nil {
			f.from[o] = append(f.from[o], s)
			f.sink(o, s)
		}
	case *ast.IndexExpr:
		f.assign(to.X, s, info)
	}
}

// sink records an expression that is assigned to the title of a diagnostic.
func (f *flow) sink(field types.Object, s source) {
	if field.Name() != "Summary" || field.Pkg() == nil || s.expr == nil {
		return
	}
	v, ok := field.(*types.Var)
	if !ok || !v.IsField() || !diagnosticField(v) {
		return
	}
	f.sinks = append(f.sinks, s)
}

func diagnosticField(v *types.Var) bool {
	switch v.Pkg().Path() {
	case "github.com/lethe-iac/lethe/internal/diag", "github.com/hashicorp/hcl/v2":
		return true
	}
	return false
}

// composite reads the fields of a struct literal.
func (f *flow) composite(n *ast.CompositeLit, info *types.Info) {
	t := info.TypeOf(n)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range n.Elts {
		var field types.Object
		value := e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			field, value = info.ObjectOf(kv.Key.(*ast.Ident)), kv.Value
		} else {
			field = st.Field(i)
		}
		s := source{value, 0, info}
		f.from[field] = append(f.from[field], s)
		f.sink(field, s)
	}
}

// call assigns the arguments of a call to the parameters.
func (f *flow) call(n *ast.CallExpr, info *types.Info) {
	sig, ok := info.TypeOf(n.Fun).(*types.Signature)
	if !ok {
		return
	}
	params := sig.Params()
	if o := callee(n, info); o != nil {
		if fn, ok := o.(*types.Func); ok {
			params = fn.Origin().Signature().Params()
		}
	}
	for i, a := range n.Args {
		j := min(i, params.Len()-1)
		if j < 0 {
			return
		}
		p := params.At(j)
		f.from[p] = append(f.from[p], source{a, 0, info})
	}
}

func callee(n *ast.CallExpr, info *types.Info) types.Object {
	switch fun := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		return info.ObjectOf(fun)
	case *ast.SelectorExpr:
		return info.ObjectOf(fun.Sel)
	case *ast.IndexExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			return info.ObjectOf(id)
		}
	}
	return nil
}

// returns adds the values of a return statement to the results of the function.
func (f *flow) returns(n *ast.ReturnStmt, stack []ast.Node, info *types.Info) {
	for i := len(stack) - 1; i >= 0; i-- {
		switch fn := stack[i].(type) {
		case *ast.FuncLit:
			return
		case *ast.FuncDecl:
			o := info.ObjectOf(fn.Name)
			if len(n.Results) > 0 {
				f.results[o] = append(f.results[o], n.Results)
				for _, r := range n.Results {
					f.remember(r, info)
				}
				return
			}
			if fn.Type.Results == nil {
				return
			}
			var named []ast.Expr // the named results, which a return statement without values returns
			for _, field := range fn.Type.Results.List {
				for _, name := range field.Names {
					named = append(named, name)
					f.remember(name, info)
				}
			}
			f.results[o] = append(f.results[o], named)
			return
		}
	}
}

func (f *flow) remember(e ast.Expr, info *types.Info) {
	if f.info == nil {
		f.info = map[ast.Expr]*types.Info{}
	}
	f.info[e] = info
}

// follow finds the texts of all titles.
func (f *flow) follow() {
	for _, s := range f.sinks {
		for _, t := range f.texts(s, map[any]bool{}) {
			at := f.fset.Position(s.expr.Pos())
			place := fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(at.Filename)), filepath.Base(at.Filename), at.Line)
			if t.at != "" {
				place = t.at
			}
			if !slices.Contains(f.out[t.text], place) {
				f.out[t.text] = append(f.out[t.text], place)
			}
		}
	}
}

type text struct{ text, at string }

var verbs = regexp.MustCompile(`%[-+# 0]*[0-9]*[a-zA-Z]`)

// texts returns the possible texts of an expression, with "*" for unknown parts.
func (f *flow) texts(s source, seen map[any]bool) []text {
	if s.expr == nil {
		return []text{{"*", ""}}
	}
	at := f.fset.Position(s.expr.Pos())
	place := fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(at.Filename)), filepath.Base(at.Filename), at.Line)
	if tv, ok := s.info.Types[s.expr]; ok && tv.Value != nil && tv.Value.Kind() == constant.String {
		return []text{{constant.StringVal(tv.Value), place}}
	}
	key := [2]any{s.expr, s.index}
	if seen[key] {
		return nil
	}
	seen[key] = true
	defer delete(seen, key)
	switch e := ast.Unparen(s.expr).(type) {
	case *ast.BinaryExpr:
		var out []text
		for _, x := range f.part(e.X, s.info, seen) {
			for _, y := range f.part(e.Y, s.info, seen) {
				out = append(out, text{strings.ReplaceAll(x.text+y.text, "**", "*"), place})
			}
		}
		return out
	case *ast.Ident:
		return f.object(s.info.ObjectOf(e), s.index, seen)
	case *ast.SelectorExpr:
		return f.object(s.info.ObjectOf(e.Sel), s.index, seen)
	case *ast.IndexExpr:
		return f.texts(source{e.X, 0, s.info}, seen)
	case *ast.CompositeLit:
		var out []text
		for _, el := range e.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			}
			out = append(out, f.texts(source{el, 0, s.info}, seen)...)
		}
		return out
	case *ast.CallExpr:
		return f.callTexts(e, s, seen, place)
	}
	return []text{{"*", place}}
}

// part returns the texts that one operand of a concatenation can have. It returns only "*", which represents any text,
// if the operand is a call, or if one of its texts is empty or contains "*". It does not replace the texts of an
// operand that is itself a concatenation.
func (f *flow) part(e ast.Expr, info *types.Info, seen map[any]bool) []text {
	if _, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		return []text{{"*", ""}}
	}
	out := f.texts(source{e, 0, info}, seen)
	if _, ok := ast.Unparen(e).(*ast.BinaryExpr); ok {
		return out
	}
	for _, t := range out {
		if strings.Contains(t.text, "*") || t.text == "" {
			return []text{{"*", ""}}
		}
	}
	return out
}

func (f *flow) callTexts(e *ast.CallExpr, s source, seen map[any]bool, place string) []text {
	o := callee(e, s.info)
	if o == nil {
		return []text{{"*", place}}
	}
	if o.Pkg() != nil && o.Pkg().Path() == "fmt" && o.Name() == "Sprintf" {
		var out []text
		for _, t := range f.texts(source{e.Args[0], 0, s.info}, seen) {
			quoted := strings.ReplaceAll(t.text, "%q", `"*"`)
			out = append(out, text{verbs.ReplaceAllString(quoted, "*"), place})
		}
		return out
	}
	if fn, ok := o.(*types.Func); ok {
		o = fn.Origin()
	}
	var out []text
	for _, r := range f.results[o] {
		x := source{r[min(s.index, len(r)-1)], 0, f.info[r[min(s.index, len(r)-1)]]}
		if len(r) == 1 {
			x.index = s.index
		}
		out = append(out, f.texts(x, seen)...)
	}
	if out == nil {
		out = []text{{"*", place}}
	}
	return out
}

func (f *flow) object(o types.Object, index int, seen map[any]bool) []text {
	var out []text
	if o == nil || seen[o] {
		return nil
	}
	seen[o] = true
	defer delete(seen, o)
	for _, s := range f.from[o] {
		out = append(out, f.texts(s, seen)...)
	}
	if len(f.from[o]) == 0 {
		out = []text{{"*", fmt.Sprintf("%s (%s)", f.fset.Position(o.Pos()), o.Name())}}
	}
	return out
}

// TestTitlesHaveCodes finds every title in the sources and compares them with the pages.
func TestTitlesHaveCodes(t *testing.T) {
	made, err := titles()
	if err != nil {
		t.Fatal(err)
	}
	if len(made) < 500 {
		t.Fatalf("only %d titles were found in the sources", len(made))
	}
	for _, title := range slices.Sorted(maps.Keys(made)) {
		if silent[title] == "" && code.Of(title) == "" && !isForm(title) {
			t.Errorf("%s gives the title %q, which has no code. Add it to a page in internal/diag/code/pages, with an example, or below \"unshown:\" with the reason why there can be none.", made[title][0], title)
		}
	}
	for _, p := range code.All() {
		for _, title := range p.Titles {
			if !anyMade(made, title) {
				t.Errorf("%s: no source gives the title %q any more. Remove it, or the page with it.", p.Code, title)
			}
		}
	}
}

// isForm reports whether a title with asterisks matches a title that has a code.
func isForm(title string) bool {
	form := &code.Page{Titles: []string{title}}
	return strings.Contains(title, "*") && slices.ContainsFunc(code.All(), func(p *code.Page) bool {
		return slices.ContainsFunc(p.Titles, form.Has)
	})
}

// anyMade reports whether the sources contain a title or a title that matches it.
func anyMade(made map[string][]string, title string) bool {
	if _, ok := made[title]; ok {
		return true
	}
	one := &code.Page{Titles: []string{title}}
	return slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(m string) bool {
		return one.Has(m) || strings.Contains(m, "*") && (&code.Page{Titles: []string{m}}).Has(title)
	})
}
