package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fileName  = regexp.MustCompile(`[\w./-]*\w\.(?:go|md)\b`)
	invariant = regexp.MustCompile(`\bI[1-9][0-9]?\b`)
)

// TestCommentsNameWhatIsThere checks all comments: files that they name exist, and invariants that they cite are in
// docs/ARCHITECTURE.md. Outside of tests every exported name has a comment, and the comment of a function begins with
// its name.
func TestCommentsNameWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("../..", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 2) {
			if e != nil && e.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(parsed) {
			return err
		}
		for _, group := range parsed.Comments {
			comment := group.Text()
			for _, name := range fileName.FindAllString(comment, -1) {
				if !named(filepath.Dir(file), name) {
					t.Errorf("%s: there is no %s", fset.Position(group.Pos()), name)
				}
			}
			for _, id := range invariant.FindAllString(comment, -1) {
				if !strings.Contains(string(text), "\n| "+id+" |") {
					t.Errorf("%s: docs/ARCHITECTURE.md has no %s", fset.Position(group.Pos()), id)
				}
			}
		}
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil && !strings.HasPrefix(f.Doc.Text(), f.Name.Name) {
				t.Errorf("%s: the comment of %s begins with another name", fset.Position(f.Pos()), f.Name.Name)
			}
			for _, name := range silent(d) {
				if strings.HasPrefix(filepath.ToSlash(file), "../../test/") {
					continue // the fake providers in test have exported methods of the plugin protocol, which need no comment
				}
				t.Errorf("%s: %s has no comment", fset.Position(name.Pos()), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wellKnown are methods of interfaces of other modules. Their meaning is known, so they need no comment.
var wellKnown = map[string]bool{"String": true, "Error": true, "Unwrap": true, "Value": true, "Set": true}

// silent returns the exported names in a declaration that have no comment. Exported methods of unexported types need no
// comment: they implement interfaces, which document them.
func silent(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || !wellKnown[d.Name.Name] && ast.IsExported(receiver(d.Recv.List[0].Type))) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if d.Doc == nil && s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
					names = append(names, s.Name)
				}
			case *ast.ValueSpec:
				if d.Doc == nil && s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
					names = append(names, s.Names...)
				}
			}
		}
	}
	return names
}

// named reports whether a file or directory with this name exists below dir, the root of the repository, internal or
// docs.
func named(dir, name string) bool {
	for _, base := range []string{dir, "../..", "../../internal", "../../docs"} {
		if _, err := os.Stat(filepath.Join(base, name)); err == nil {
			return true
		}
	}
	return false
}
