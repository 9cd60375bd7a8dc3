package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lethe-iac/lethe/"

// layers from the bottom up; within a layer from left to right.
var layers = [][]string{
	{"addr", "child", "diag", "hop", "walk", "shortcut"},
	{"mark", "schema", "secret"},
	{"config", "state", "plan", "provider"},
	{"lang", "event", "lease", "provision", "object"},
	{"engine", "fetch"},
	{"test", "view"},
	{"cli"},
}

// bound are dependencies that only some rooms may have.
var bound = []struct {
	prefix string
	rooms  []string
	why    string
}{
	{"github.com/hashicorp/hcl/", []string{"diag", "config", "lang", "schema"}, "the border between syntax and meaning: everybody else works with declarations and values"},
	{"google.golang.org/", []string{"provider"}, "only provider/wire knows protobuf and gRPC (I3)"},
	{"github.com/hashicorp/go-plugin", []string{"provider"}, "only the launcher starts plugins"},
}

// TestImportsGoDown reads the files itself: what a child process reads does not count when go test
// asks whether an earlier result still holds.
func TestImportsGoDown(t *testing.T) {
	err := filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		from := path.Join(module, "internal", dir)
		if rank(room(from)) < 0 && room(from) != "layers" {
			t.Errorf("%s is in no layer", from)
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			check(t, from, room(from), imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, path, from, imp string) {
	t.Helper()
	for _, b := range bound {
		if strings.HasPrefix(imp, b.prefix) && !slices.Contains(b.rooms, from) {
			t.Errorf("%s imports %s: %s", path, imp, b.why)
		}
	}
	to := room(imp)
	if to == "" || to == from {
		return
	}
	if rank(to) > rank(from) {
		t.Errorf("%s imports %s: imports go down (I1)", path, imp)
	}
}

// room is the first folder below internal, "" for other packages.
func room(path string) string {
	rest, ok := strings.CutPrefix(path, module+"internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// rank orders the rooms: those that a room may import have a lower one.
func rank(name string) int {
	n := 0
	for _, layer := range layers {
		for _, r := range layer {
			n++
			if r == name {
				return n
			}
		}
	}
	return -1
}
