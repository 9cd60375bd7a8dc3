package layers

import (
	"encoding/json"
	"os/exec"
	"slices"
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

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"internal/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		from := room(p.ImportPath)
		if from == "layers" {
			continue
		}
		if rank(from) < 0 {
			t.Errorf("%s is in no layer", p.ImportPath)
		}
		for _, imp := range p.Imports {
			check(t, p.ImportPath, from, imp)
		}
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
