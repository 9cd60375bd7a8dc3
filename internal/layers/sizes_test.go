package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of size. A type or package above a limit has several duties: divide it.
const (
	maxMethods = 45    // maximum number of methods of a type
	maxFields  = 20    // maximum number of fields of a struct
	maxLines   = 5_500 // maximum number of lines of a package, without tests
)

// TestSizes checks the size of each type and package, except generated files.
func TestSizes(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		lines[pkg] += bytes.Count(text, []byte("\n"))
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[pkg+"."+receiver(n.Recv.List[0].Type)]++
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFields {
					t.Errorf("%s.%s has %d fields, more than %d", pkg, n.Name.Name, s.Fields.NumFields(), maxFields)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 50 || len(methods) < 100 {
		t.Errorf("found only %d packages and %d types with methods", len(lines), len(methods))
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d", name, n, maxMethods)
		}
	}
	for name, n := range lines {
		if n > maxLines {
			t.Errorf("package %s has %d lines, more than %d", name, n, maxLines)
		}
	}
}

// receiver returns the name of the type of a method's receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
