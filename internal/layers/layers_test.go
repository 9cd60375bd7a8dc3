package layers

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lethe-iac/lethe/"

// layers from the bottom up; within a layer from left to right.
var layers = [][]string{
	{"addr", "subprocess", "diag", "sshconn", "jsontext", "walk", "shortcut", "ctyvalue", "limits", "download", "archive", "bucket", "paths"},
	{"mark", "schema", "secret", "convert", "syntax", "registry", "login", "oci"},
	{"config", "state", "plan", "provider"},
	{"lang", "event", "lease", "provision", "object", "mock", "cliconfig", "workspace"},
	{"engine", "fetch", "backend", "suite"},
	{"view"},
	{"cli"},
}

// floors are the packages inside of a room, from the bottom up: each imports those of lower floors alone, "" is
// the room itself. Packages that are not listed are free (they are for tests).
var floors = map[string][][]string{
	"engine": {
		{"declared"}, {"receivers", "filling", "moving"}, {"leases", "ordering", "targeting", "footprint", "changed"}, {"run"}, {"validating"},
		{"planning", "applying"}, {""},
	},
	"view": {{"jsondoc", "queue"}, {""}, {"testview"}},
	"lang": {{"funcs", "outline"}, {"expr"}, {"program"}, {"frame"}, {"vet"}, {""}},
}

// floor is that of a package in its room, -1 where none is listed.
func floor(room, path string) int {
	_, in, _ := strings.Cut(strings.TrimPrefix(path, module+"internal/"), "/")
	return slices.IndexFunc(floors[room], func(names []string) bool { return slices.Contains(names, in) })
}

// bound are dependencies that only some rooms may have.
var bound = []struct {
	prefix string
	rooms  []string
	why    string
}{
	{"github.com/hashicorp/hcl/", []string{"diag", "syntax", "config", "cliconfig", "lang", "schema"}, "the border between syntax and meaning: everybody else works with declarations and values"},
	{"google.golang.org/", []string{"provider"}, "only provider/wire knows protobuf and gRPC (I3)"},
	{"github.com/hashicorp/go-plugin", []string{"provider"}, "only the launcher starts plugins"},
}

// TestRooms holds the rooms that there are, and those that docs/ARCHITECTURE.md draws and describes, against
// the layers.
func TestRooms(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for i, layer := range layers {
		if line := fmt.Sprintf("(?m)^%d +%s$", i, strings.Join(layer, " +")); !regexp.MustCompile(line).MatchString(doc) {
			t.Errorf("layer %d is not drawn as %q", i, layer)
		}
		for _, r := range layer {
			if _, err := os.Stat(filepath.Join("..", r)); err != nil {
				t.Error(err)
			}
			if !strings.Contains(doc, "\n| `"+r+"` |") {
				t.Errorf("%s is not described", r)
			}
		}
	}
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
	if to == from && to != "" {
		if a, b := floor(from, path), floor(to, imp); a >= 0 && b >= 0 && b >= a {
			t.Errorf("%s imports %s: imports go down inside of a room, too", path, imp)
		}
		return
	}
	if to == "" {
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
