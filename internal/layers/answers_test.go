package layers

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// readers are the packages that may call methods of provider.Provider whose answers contain values of objects, and may
// read these answers. If answers is nil, the package may read all answers. Packages below internal/provider transport
// the answers and are exempt.
var readers = map[string]struct {
	answers []string
	why     string
}{
	"object/guard": {nil, "it is the stage that checks each answer (ADR 49)"},
	"mock":         {nil, "it answers in the place of providers"},
	"lease":        {[]string{"RenewResponse"}, "the answer has private data of the lease alone, which is never stored"},
	"suite":        {[]string{"OpenResponse", "RenewResponse"}, "it notes the results of leases for assertions"},

	"engine/enginetest/world": {nil, "it answers in the place of providers"},
}

// TestOnlyTheGuardReadsAnswers checks that an answer of a provider passes object/guard before another package reads it:
// only the packages in readers make a call whose answer has values, or use a field of such an answer.
func TestOnlyTheGuardReadsAnswers(t *testing.T) {
	found := map[string]map[string]bool{}
	c := checker{t: t, fset: token.NewFileSet(), done: map[string]*types.Package{}}
	c.uses = func(_ []string, in *types.Package, of map[*ast.Ident]types.Object) {
		from := strings.TrimPrefix(in.Path(), module+"internal/")
		if from == "provider" || strings.HasPrefix(from, "provider/") {
			return
		}
		for id, o := range of {
			if o.Pkg() == nil || o.Pkg().Path() != module+"internal/provider" {
				continue
			}
			answer := answerOf(o)
			if answer == "" {
				continue
			}
			if found[from] == nil {
				found[from] = map[string]bool{}
			}
			found[from][answer] = true
			if may, ok := readers[from]; !ok || may.answers != nil && !slices.Contains(may.answers, answer) {
				t.Errorf("%s: %s reads a %s of a provider: have it checked by object/guard", c.fset.Position(id.Pos()), o.Name(), answer)
			}
		}
	}
	c.all()
	for name, may := range readers {
		if found[name] == nil || slices.ContainsFunc(may.answers, func(a string) bool { return !found[name][a] }) {
			t.Errorf("%s reads %v alone: shorten the list", name, found[name])
		}
	}
}

// answerOf returns the type of the answer that has the field o, or that the method o returns. It returns "" for other
// objects.
func answerOf(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		recv := o.Signature().Recv()
		if recv == nil {
			return ""
		}
		if o.Name() == "UpgradeIdentity" {
			return o.Name()
		}
		if results := o.Signature().Results(); results.Len() > 0 && isAnswer(results.At(0).Type()) {
			return results.At(0).Type().(*types.Named).Obj().Name()
		}
	case *types.Var:
		if !o.IsField() {
			return ""
		}
		scope := o.Pkg().Scope()
		for _, name := range scope.Names() {
			typ := scope.Lookup(name).Type()
			if s, ok := typ.Underlying().(*types.Struct); ok && isAnswer(typ) && slices.Contains(slices.Collect(s.Fields()), o) {
				return name
			}
		}
	}
	return ""
}

// isAnswer reports whether a type of package provider is an answer of a provider (a name that ends in Response) or a
// part of an answer (Imported).
func isAnswer(typ types.Type) bool {
	n, ok := typ.(*types.Named)
	return ok && (strings.HasSuffix(n.Obj().Name(), "Response") || n.Obj().Name() == "Imported")
}
