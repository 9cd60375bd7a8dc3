package frame

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// LongestInput is the maximum length of one typed expression in bytes. It keeps the recursion of the parser within the
// stack.
const LongestInput = 64 << 10

// Console evaluates expressions that a user types, in one module instance, with the values on one face: Before (the
// prior state) or After (the planned state).
type Console struct {
	f    *Frame
	face Face
}

// NewConsole returns a console for expressions of the module instance.
func NewConsole(f *Frame, face Face) Console { return Console{f, face} }

// Eval parses an expression and evaluates it. filename names the input in diagnostics. After an error, which is in the
// bag or was reported by an earlier evaluation, it returns an unknown value and a status other than OK.
func (c Console) Eval(src []byte, filename string, bag *diag.Bag) (mark.Value, Status) {
	if len(src) > LongestInput {
		bag.Add(diag.Errorf("Expression too long", "An expression may have up to %d bytes. Shorten it, or put a part into a local value.", LongestInput))
		return mark.Plain(cty.DynamicVal), Broken
	}
	e, ok := config.ParseExpression(filename, src, c.f.w.budget.l, bag)
	if !ok || !callable(c.f, e, bag) {
		return mark.Plain(cty.DynamicVal), Broken
	}
	return c.f.Eval(e, Scope{}, c.face, bag)
}

// callable reports whether the expression e may be evaluated. It reports an error for a call of a provider function
// that cannot exist (see offered), and for a call of the function type inside another expression: the result of type
// can be shown, but is not a value.
func callable(f *Frame, e hclsyntax.Expression, bag *diag.Bag) bool {
	ok := true
	whole := map[hclsyntax.Node]bool{} // the calls of type that are the whole expression, or the whole argument of such a call
	for inner := e; inner != nil; {
		switch x := inner.(type) {
		case *hclsyntax.ParenthesesExpr:
			inner = x.Expression
		case *hclsyntax.FunctionCallExpr:
			if inner = nil; typeCall(x) {
				whole[x] = true
				inner = x.Args[0]
			}
		default:
			inner = nil
		}
	}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		call, is := n.(*hclsyntax.FunctionCallExpr)
		if !is {
			return nil
		}
		if typeCall(call) && !whole[n] {
			bag.Add(diag.Errorf("Invalid use of type function", "The result of the function type cannot be a part of another value. Call the function alone.").At(call.Range()))
			ok = false
		}
		if parts := strings.Split(call.Name, "::"); parts[0] == "provider" && len(parts) >= 3 {
			ok = offered(f, call, parts, bag) && ok
		}
		return nil
	})
	return ok
}

// offered reports whether a provider function may exist: the provider must be declared, and must have the function or a
// configuration that may add functions. If not, offered adds an error.
func offered(f *Frame, call *hclsyntax.FunctionCallExpr, parts []string, bag *diag.Bag) bool {
	e := &expr.ProviderCall{Local: parts[1], Name: parts[len(parts)-1], Provider: f.n.Config.Provider(parts[1])}
	required := f.u.Module.Required
	if req := required[e.Local]; req == nil || req.Range == (diag.Range{}) {
		bag.Add(diag.Errorf("Unknown provider function", "%s", program.UndeclaredFunction(e, required)).At(call.NameRange))
		return false
	}
	if f.w.o.Run.Function(e.Provider, e.Name) == nil && f.w.p.Existing(f.n, e.Provider, "") == program.NoDecl && len(parts) == 3 {
		bag.Add(diag.Errorf("Unknown provider function", "%s", program.UnknownFunction(e, nil)).At(call.NameRange))
		return false
	}
	return true
}

// Input tells whether a typed text is complete.
type Input uint8

// The states of an input.
const (
	Blank  Input = iota // the text has only white space and comments
	Open                // a bracket or a heredoc is not closed, or the text ends with a backslash
	Closed              // the text is complete and can be evaluated
)

// Typed returns whether the typed text is complete: Open if a bracket, template or heredoc is not closed or the text
// ends with a backslash, Blank if it has only comments and white space, and otherwise Closed. A text that is too long
// for Eval is Closed.
func Typed(src []byte) Input {
	if len(src) > LongestInput {
		return Closed // Eval reports an error for such a text
	}
	if bytes.HasSuffix(bytes.TrimRight(src, " \t\r\n"), []byte(`\`)) {
		return Open
	}
	tokens, _ := hclsyntax.LexExpression(append(bytes.Clone(src), '\n'), "", diag.Pos{Line: 1, Column: 1})
	depth, blank := 0, true
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
		if t.Type != hclsyntax.TokenComment && t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenEOF {
			blank = false
		}
	}
	switch {
	case blank:
		return Blank
	case depth > 0:
		return Open
	}
	return Closed
}

// MayClose reports whether a line may complete the input before it: the line has a closing bracket or a backslash, or
// may be the end marker of a heredoc. If not, the caller need not call Typed.
func MayClose(line string) bool {
	return strings.ContainsAny(line, `)]}\`) || hclsyntax.ValidIdentifier(strings.TrimSpace(line))
}

// Members returns the names that can be selected from the value of an expression: attributes, and keys that are valid
// names. It returns nil if the evaluation fails or the value itself is marked.
func (c Console) Members(src string) []string {
	var bag diag.Bag
	v, o := c.Eval([]byte(src), "", &bag)
	whole := func(a mark.At) bool { return len(a.Path) == 0 }
	if o != OK || v.Raw == cty.NilVal || slices.ContainsFunc(v.Marks, whole) {
		return nil
	}
	ty := v.Raw.Type()
	if ty.IsObjectType() {
		return slices.Sorted(maps.Keys(ty.AttributeTypes()))
	}
	return slices.DeleteFunc(expr.NamesIn(v.Raw), func(name string) bool { return !hclsyntax.ValidIdentifier(name) })
}

// typeCall reports whether a call is a call of the function type.
func typeCall(call *hclsyntax.FunctionCallExpr) bool {
	return (call.Name == "type" || call.Name == "core::type") && len(call.Args) == 1
}
