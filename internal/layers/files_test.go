package layers

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/walk"
)

// circular is the package in which files may depend on each other: a conversion may need the unified type of several
// types, and the unified type depends on conversions.
const circular = "convert"

// TestFilesUseThoseBelow reports files of a package that depend on each other. Without cycles, a reader can read each
// file after the files that it uses. Types that depend on each other belong in the first of these files that needs one
// of them.
func TestFilesUseThoseBelow(t *testing.T) {
	c := checker{t: t, fset: token.NewFileSet(), done: map[string]*types.Package{}}
	c.uses = c.circles
	c.all()
}

// all checks all packages in internal.
func (c *checker) all() {
	err := filepath.WalkDir("..", func(dir string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() != "testdata" {
			_, err = c.Import(path.Join(module, "internal", filepath.ToSlash(strings.TrimPrefix(dir, ".."))))
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// checker checks the types of the packages in internal. It does not load other packages, which saves time. Types of
// other packages are invalid, so the checker misses a few uses.
type checker struct {
	t    *testing.T
	fset *token.FileSet
	done map[string]*types.Package
	// uses receives the file names of a package and the uses of identifiers in it.
	uses func(names []string, in *types.Package, of map[*ast.Ident]types.Object)
}

// Import returns a package of internal with its types, and an empty package for other paths. It implements
// types.Importer.
func (c *checker) Import(imp string) (*types.Package, error) {
	if c.done[imp] != nil {
		return c.done[imp], nil
	}
	c.done[imp] = types.NewPackage(imp, path.Base(imp))
	c.done[imp].MarkComplete()
	in, ours := strings.CutPrefix(imp, module+"internal/")
	pkg, err := build.ImportDir(filepath.Join("..", filepath.FromSlash(in)), 0)
	if !ours || err != nil { // the path is not in internal, or the directory has only tests or no files
		return c.done[imp], nil
	}
	files := make([]*ast.File, len(pkg.GoFiles))
	for i, name := range pkg.GoFiles {
		if files[i], err = parser.ParseFile(c.fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	uses := map[*ast.Ident]types.Object{}
	conf := types.Config{Importer: c, Error: func(error) {}}
	c.done[imp], _ = conf.Check(imp, c.fset, files, &types.Info{Uses: uses})
	c.uses(pkg.GoFiles, c.done[imp], uses)
	return c.done[imp], nil
}

// circles reports cycles of files. Of each cycle it reports the dependency with the fewest uses, which is probably the
// wrong dependency.
func (c *checker) circles(names []string, in *types.Package, of map[*ast.Ident]types.Object) {
	if in.Path() == module+"internal/"+circular {
		return
	}
	uses, edges := map[[2]int32][]string{}, make([][]int32, len(names))
	file := func(pos token.Pos) int32 {
		return int32(slices.Index(names, filepath.Base(c.fset.Position(pos).Filename)))
	}
	for id, o := range of {
		if o.Pkg() == in && o.Pos().IsValid() && file(id.Pos()) != file(o.Pos()) {
			e := [2]int32{file(id.Pos()), file(o.Pos())}
			edges[e[0]] = append(edges[e[0]], e[1])
			uses[e] = append(uses[e], fmt.Sprintf("%s: %s, which is in %s", c.fset.Position(id.Pos()), o.Name(), names[e[1]]))
		}
	}
	circle, _ := walk.Components(len(names), func(v int32) []int32 { return edges[v] }, func(v int32) int32 { return v })
	fewest := map[int32]int{}
	for e, list := range uses {
		if n := fewest[circle[e[0]]]; circle[e[0]] == circle[e[1]] && (n == 0 || n > len(list)) {
			fewest[circle[e[0]]] = len(list)
		}
	}
	for e, list := range uses {
		if circle[e[0]] == circle[e[1]] && len(list) == fewest[circle[e[0]]] {
			c.t.Errorf("files need one another: %s", strings.Join(list, "; "))
		}
	}
}
