package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartCompilesNoExpression checks that no package compiles a regular expression when the program starts. Every
// command would pay for the expressions of all commands. sync.OnceValue compiles an expression at its first use.
func TestStartCompilesNoExpression(t *testing.T) {
	fset := token.NewFileSet()
	for _, root := range []string{"..", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					compilesAtStart(t, fset, g)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// compilesAtStart reports the calls of package regexp outside of functions.
func compilesAtStart(t *testing.T, fset *token.FileSet, decl ast.Node) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "regexp" && strings.HasPrefix(n.Sel.Name, "MustCompile") {
				t.Errorf("%s: a regular expression is compiled when the program starts: use sync.OnceValue", fset.Position(n.Pos()))
			}
		}
		return true
	})
}
