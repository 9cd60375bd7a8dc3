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

// LongestInput is how many bytes may be typed in for one expression. It keeps the depth of the parser's
// recursion within what a stack can hold.
const LongestInput = 64 << 10

// ParseAndEval reads an expression and evaluates it, as the console does.
func (f *Frame) ParseAndEval(src []byte, filename string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if len(src) > LongestInput {
		bag.Add(diag.Errorf("Expression too long", "An expression typed in may have up to %d bytes.", LongestInput))
		return mark.Plain(cty.DynamicVal), Broken
	}
	e, ok := config.ParseExpression(filename, src, f.w.budget.l, bag)
	if !ok || !callable(f, e, bag) {
		return mark.Plain(cty.DynamicVal), Broken
	}
	return f.Eval(e, Scope{}, face, bag)
}

// callable refuses calls that only Check would find out to be wrong, which looks at what is declared, and the
// function type where it is a part of something else: its result can be shown, but is no value.
func callable(f *Frame, e hclsyntax.Expression, bag *diag.Bag) bool {
	ok := true
	whole := map[hclsyntax.Node]bool{} // calls of type whose result is all there is, or is asked about by another one
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
			bag.Add(diag.Errorf("Invalid use of type function", "The result of the function type can be shown, but it cannot be a part of another value. Call the function by itself.").At(call.Range()))
			ok = false
		}
		if parts := strings.Split(call.Name, "::"); parts[0] == "provider" && len(parts) >= 3 {
			ok = offered(f, call, parts, bag) && ok
		}
		return nil
	})
	return ok
}

// offered reports whether a provider that is declared may have a function, or one with a configuration.
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

// Input is what has been typed so far, as a console sees it.
type Input uint8

// The states of an input.
const (
	Blank  Input = iota // nothing but white space and comments
	Open                // a bracket or a heredoc is not closed yet, or a backslash says that more follows
	Closed              // it can be evaluated
)

// Typed tells what has been typed so far.
func Typed(src []byte) Input {
	if len(src) > LongestInput {
		return Closed // and refused
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

// MayClose reports whether a line can end what was begun before it: it has a closing bracket, or is the
// marker of a heredoc. Only then is it worth looking at everything again.
func MayClose(line string) bool {
	return strings.ContainsAny(line, `)]}\`) || hclsyntax.ValidIdentifier(strings.TrimSpace(line))
}

// Members are the names that can be selected from the value of an expression: attributes, and keys
// that are names. The names in a marked value are not listed.
func (f *Frame) Members(src string, face Face) []string {
	var bag diag.Bag
	v, o := f.ParseAndEval([]byte(src), "", face, &bag)
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

// typeCall reports whether a call is one of the function type.
func typeCall(call *hclsyntax.FunctionCallExpr) bool {
	return (call.Name == "type" || call.Name == "core::type") && len(call.Args) == 1
}
