package layers

import (
	"fmt"
	"go/build"
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

// layers lists the packages in internal, the lowest layer first. Within a layer, a package may import the packages
// before it.
var layers = [][]string{
	{"addr", "subprocess", "diag", "sshconn", "jsontext", "walk", "shortcut", "ctyvalue", "limits", "download", "paths", "disk", "archive", "bucket", "operation", "experiment"},
	{"mark", "schema", "secret", "convert", "syntax", "registry", "login", "oci"},
	{"config", "store", "state", "transfer", "plan", "provider"},
	{"lang", "event", "lease", "provision", "object", "mock", "cliconfig", "workspace", "audit"},
	{"engine", "fetch", "backend", "suite", "lint"},
	{"diff", "review", "explain", "timing", "layout", "view"},
	{"cli"},
}

// innerLayers lists the layers of packages inside a package, the lowest first. Each may import only packages of lower
// layers. "" is the outer package itself. Packages that are not listed, such as packages for tests, are not restricted.
var innerLayers = map[string][][]string{
	"engine": {
		{"declared"}, {"receivers", "filling", "moving"}, {"leases", "ordering", "targeting", "footprint", "changed", "rounds"}, {"run"}, {"validating"},
		{"planning", "applying", "querying"}, {""},
	},
	"store": {
		{"pgstore/rows"}, {""}, {"cloudauth"},
		{"azurestore", "consulstore", "crypt", "gcsstore", "httpstore", "kubestore", "pgstore", "pluginstore", "remotestore", "s3store"},
	},
	"object":   {{"guard"}, {""}},
	"provider": {{"wire/wirepb"}, {"", "rpc"}, {"wire", "builtin"}, {"wire/serve", "launch", "builtin/lethe", "builtin/terraform"}, {"keeper", "plugin"}},
	"cli": {
		{"base"}, {"logging", "plankey", "settings", "timed"}, {"workdir"}, {"variables"}, {"loader", "plugins"}, {"states"}, {"session"},
		{"reviewed", "savedplan", "statecmd", "testcmd/teststates"}, {"devcmd", "doctorcmd", "explaincmd", "initcmd", "logincmd", "manual", "querycmd", "runcmd", "secretscmd", "testcmd", "workspacecmd"}, {""},
	},
	"view": {{"jsondoc", "queue"}, {"actionview"}, {""}, {"sheet"}, {"testview", "comment", "doctorview", "explainview", "page", "reviewdoc", "timeline", "tracedoc", "graphview", "historypage"}},
	"lang": {{"funcs", "outline"}, {"expr"}, {"program"}, {"frame"}, {"vet"}, {""}},
}

// testsOnly are packages that contain only tests of the repository itself.
var testsOnly = []string{"layers", "prose"}

// layer returns the index in innerLayers[parent] of the layer of the package path, and -1 for packages that are not
// listed.
func layer(parent, path string) int {
	_, in, _ := strings.Cut(strings.TrimPrefix(path, module+"internal/"), "/")
	return slices.IndexFunc(innerLayers[parent], func(names []string) bool { return slices.Contains(names, in) })
}

// bound lists imports that only some packages may have: paths that begin with prefix, and the packages that may import
// them.
var bound = []struct {
	prefix string
	users  []string
	why    string
}{
	{"github.com/hashicorp/hcl/", []string{"diag", "syntax", "config", "cliconfig", "lang", "schema", "lint"}, "the border between syntax and meaning: other packages work with declarations and values"},
	{"google.golang.org/", []string{"provider"}, "only provider/wire knows protobuf and gRPC (I3)"},
	{"unsafe", []string{"ctyvalue", "subprocess"}, "one package looks at memory, and one passes structures to Windows (ADR 23)"},
	{"github.com/hashicorp/go-plugin", []string{"provider"}, "only the launcher starts plugins"},
}

// TestLayersAreDescribed checks that the packages of layers exist, and that docs/ARCHITECTURE.md draws and describes
// them.
func TestLayersAreDescribed(t *testing.T) {
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

// TestImportsGoDown checks that each package imports only packages of lower layers, and those that bound permits. It
// reads the files itself, because go test does not see which files a child process reads, and would use outdated cached
// results.
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
		if rank(packageName(from)) < 0 && !slices.Contains(testsOnly, packageName(from)) {
			t.Errorf("%s is in no layer", from)
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			check(t, from, packageName(from), imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCommandsTakeWhatTheyNeed checks that commands that call no provider do not import session, and that only the test
// command imports the states that tests leave.
func TestCommandsTakeWhatTheyNeed(t *testing.T) {
	users := map[string][]string{
		"session":            {"devcmd", "explaincmd", "querycmd", "reviewed", "runcmd", "savedplan", "secretscmd", "statecmd", "testcmd"},
		"savedplan":          {"devcmd", "explaincmd", "runcmd", "secretscmd"},
		"testcmd/teststates": {"testcmd"},
	}
	for used, want := range users {
		var got []string
		err := filepath.WalkDir("../cli", func(dir string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			pkg, _ := build.ImportDir(dir, 0) // an error only means that the directory has no files of Go
			if slices.Contains(pkg.Imports, module+"internal/cli/"+used) {
				got = append(got, strings.TrimPrefix(filepath.ToSlash(dir), "../cli/"))
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is used by %v, and should be by %v (%v)", used, got, want, err)
		}
	}
}

// check reports an error if the file at path, which belongs to package from, must not import the package imp.
func check(t *testing.T, path, from, imp string) {
	t.Helper()
	for _, b := range bound {
		generated := path == module+"internal/provider/wire/wirepb"
		if strings.HasPrefix(imp, b.prefix) && !slices.Contains(b.users, from) && !generated {
			t.Errorf("%s imports %s: %s", path, imp, b.why)
		}
	}
	to := packageName(imp)
	if to == from && to != "" {
		if a, b := layer(from, path), layer(to, imp); a >= 0 && b >= 0 && b >= a {
			t.Errorf("%s imports %s: imports go down inside of a package, too", path, imp)
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

// packageName returns the first folder below internal in the path of a package, and "" for packages outside internal.
func packageName(path string) string {
	rest, ok := strings.CutPrefix(path, module+"internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// rank returns the position of a package in layers, and -1 if it is not listed. A package may import the packages with
// a lower position.
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
