package cli_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wide reports whether tests cover more cases of a rule: LETHE_WIDE or LETHE_LONG is set. .ci/run sets LETHE_WIDE in
// its second lane (the slower part of the tests).
func wide() bool { return os.Getenv("LETHE_WIDE") != "" || whole() }

// secondLane skips a test that only the second lane (the slower part) of .ci/run runs, for a reason. The test runs if
// LETHE_WIDE or LETHE_LONG is set, or if -run names the test.
func secondLane(t *testing.T, reason string) {
	t.Helper()
	if !wide() && !named(t.Name()) {
		t.Skip(reason + ": LETHE_WIDE=1 runs it")
	}
}

// named reports whether the pattern of -run contains a name.
func named(name string) bool { return strings.Contains(flag.Lookup("test.run").Value.String(), name) }

// The reasons why tests run only in the second lane of .ci/run.
const (
	runsPeer    = "it runs Terraform again and again"
	drawsRandom = "it draws many cases at random"
	needsMuch   = "it needs seconds of processor time"
)

// TestSecondLane checks that .ci/run names each test that calls secondLane in its second lane.
func TestSecondLane(t *testing.T) {
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile(`LETHE_WIDE=1 go test .* \./internal/cli -run '(.*)'`).FindSubmatch(ci)
	if step == nil {
		t.Fatal(".ci/run has no step with LETHE_WIDE")
	}
	pattern := regexp.MustCompile(string(step[1]))
	files, _ := filepath.Glob("*_test.go")
	n := 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !callsSecondLane(fn) {
				continue
			}
			if n++; !pattern.MatchString(fn.Name.Name) {
				t.Errorf("neither lane of .ci/run runs %s: add it to the step with LETHE_WIDE", fn.Name.Name)
			}
		}
	}
	if n == 0 {
		t.Error("no test calls secondLane")
	}
}

func callsSecondLane(fn *ast.FuncDecl) (calls bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "secondLane" {
				calls = true
			}
		}
		return true
	})
	return calls
}

// TestWide repeats tests of this package in more ways, and runs the slow scripts. It takes about as long as all other
// tests of the package.
func TestWide(t *testing.T) {
	if !wide() {
		t.Skip("LETHE_WIDE=1 runs these tests")
	}
	for name, test := range map[string]func(*testing.T){
		"AttributesOfEveryKind": testAttributesOfEveryKind,
		"Places":                testPlaces,
		"Scripts":               testSlowScripts,
		"WithoutShortcuts":      testWithoutShortcuts,
	} {
		t.Run(name, test)
	}
}

// slowScripts lists the scripts that take seconds of processor time or wait for seconds, by the reason.
var slowScripts = map[string][]string{
	"it derives keys from passphrases again and again": {
		"actions/encryption", "encryption/commands", "encryption/errored", "encryption/first", "encryption/lifecycle", "encryption/service",
		"encryption/variable", "secrets/encrypted", "secrets/move_encrypted", "secrets/scrub_encrypted", "secrets/scrub_other_key", "transfer/encrypted",
	},
	"it computes many digests of secrets": {"builtin/secret_version", "builtin/secret_version_generator"},
	"it runs Terraform again and again":   {"builtin/plugin_of_terraform", "data/forget_all_with_terraform", "init/not_needed"},
	"it installs again and again":         {"init/providers_installed_and_mirrored", "init/providers_lock_and_mirror", "init/vendor"},
	"it waits for seconds":                {"actions/streams", "ephemeral_resources/renew_fails", "init/login", "provisioners/parallelism", "query/misdeeds", "test/long"},
}

// manyCommands is the number of commands of Lethe from which a script counts as slow. Each command starts a process,
// and most commands start a keeper (a second process of Lethe) and providers.
const manyCommands = 5

// slowness returns the reason why a script is slow, or "" if it is not slow.
func slowness(s script) string {
	for reason, list := range slowScripts {
		if slices.Contains(list, s.folder+"/"+s.name) {
			return reason
		}
	}
	commands, _, _ := bytes.Cut(s.text, []byte("\n-- "))
	if bytes.Count(commands, []byte("exec lethe ")) >= manyCommands {
		return "it runs many commands"
	}
	return ""
}

// testSlowScripts runs the scripts that TestScripts skips.
func testSlowScripts(t *testing.T) {
	if whole() {
		t.Skip("with LETHE_LONG, TestScripts runs them")
	}
	t.Parallel()
	var list []script
	exists := map[string]bool{}
	for _, s := range scripts(t) {
		exists[s.folder+"/"+s.name] = true
		if slowness(s) != "" {
			list = append(list, s)
		}
	}
	for _, names := range slowScripts {
		for _, name := range names {
			if !exists[name] {
				t.Errorf("the slow script %s does not exist", name)
			}
		}
	}
	p := params(setup)
	p.Cmds["sshd"] = sshd(t)
	servers(t, p)
	runScripts(t, p, list)
}
