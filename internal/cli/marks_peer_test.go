package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// TestMarksBesidePeer evaluates random expressions over sensitive and ephemeral values with the consoles of Lethe and
// Terraform. Both must show and hide the same results. LETHE_LONG=1 evaluates more expressions, and other
// expressions in each run.
func TestMarksBesidePeer(t *testing.T) {
	secondLane(t, runsPeer)
	t.Parallel()
	peer, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	seed, count := uint64(1), 150
	if os.Getenv("LETHE_LONG") != "" {
		seed, count = uint64(time.Now().Unix()), 3000
	}
	t.Logf("seed %d", seed)
	g := &expressions{rand.New(rand.NewPCG(seed, 0))}
	var list []string
	var input strings.Builder // all expressions in one list, because the console of Terraform prints only the last value
	input.WriteString("[")
	for i := range count {
		e := []func(int) string{g.text, g.list, g.mapping, g.number, g.truth}[g.IntN(5)](3)
		list = append(list, e)
		fmt.Fprintf(&input, "\"#%d\", try(%s, \"failed\"), ", i, e)
	}
	input.WriteString("]\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(marksVariables), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := cli.Main(cli.Env{
		Args: []string{"console"}, Program: "lethe", Stdin: strings.NewReader(input.String()), Stdout: &out, Stderr: &out, Dir: dir, Now: time.Now,
		Environ: []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + os.DevNull},
	})
	cmd := exec.CommandContext(t.Context(), peer, "console")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input.String())
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=", "TF_CLI_CONFIG_FILE="+os.DevNull)
	theirs, err := cmd.CombinedOutput()
	if code != 0 || err != nil {
		t.Errorf("lethe exits with %d, terraform: %v", code, err)
	}
	got, want := strings.Split(hidden.Replace(out.String()), "\"#")[1:], strings.Split(hidden.Replace(string(theirs)), "\"#")[1:]
	for i := range min(len(got), len(want)) {
		explains := strings.Contains(list[i], "issensitive(") || strings.Contains(list[i], "can(")
		if explains && strings.Contains(list[i], "var.e") { // in Lethe, the results of issensitive and can for an ephemeral value are ephemeral
			continue
		}
		if strings.Contains(want[i], "failed") { // skip errors of Terraform: Lethe accepts more expressions
			continue
		}
		if strings.TrimRight(got[i], "] \n") != strings.TrimRight(want[i], "] \n") {
			t.Errorf("%s\nlethe     %s\nterraform %s", list[i], got[i], want[i])
		}
	}
	if len(got) != count || len(want) != count {
		t.Errorf("%d and %d of %d expressions were evaluated", len(got), len(want), count)
	}
}

// hidden replaces the placeholders for sensitive and ephemeral values by one text. If a value is sensitive and
// ephemeral, the two programs print different placeholders.
var hidden = strings.NewReplacer("(sensitive value)", "(hidden)", "(ephemeral value)", "(hidden)")

const marksVariables = `
variable "s" {
  default   = "secret"
  sensitive = true
}
variable "l" {
  default   = ["a", "b"]
  sensitive = true
}
variable "m" {
  default   = { a = "x", b = "y" }
  sensitive = true
}
variable "n" {
  default   = 2
  sensitive = true
}
variable "e" {
  default   = "fleeting"
  ephemeral = true
}
variable "el" {
  default   = ["f", "g"]
  ephemeral = true
  sensitive = true
}
locals {
  list    = ["p", sensitive("q")]
  mapping = { a = "p", b = sensitive("q") }
}
`

// expressions generates random expressions; each method has a result type. The argument depth of the methods is the
// maximum nesting of calls.
type expressions struct{ *rand.Rand }

func (g *expressions) pick(depth int, leaves []string, calls ...func() string) string {
	if n := g.IntN(len(leaves) + 2*len(calls)); depth > 0 && n >= len(leaves) {
		return calls[(n-len(leaves))/2]()
	}
	return leaves[g.IntN(len(leaves))]
}

func (g *expressions) text(d int) string {
	d--
	return g.pick(d, []string{`"plain"`, "var.s", "var.l[0]", `var.m["a"]`, "local.list[1]", "local.mapping.b", `sensitive("x")`, "var.e", "var.el[0]"},
		func() string { return fmt.Sprintf("upper(%s)", g.text(d)) },
		func() string { return fmt.Sprintf(`"<${%s}>"`, g.text(d)) },
		func() string { return fmt.Sprintf("join(\",\", %s)", g.list(d)) },
		func() string { return fmt.Sprintf("(%s ? %s : %s)", g.truth(d), g.text(d), g.text(d)) },
		func() string { return fmt.Sprintf("%s[0]", g.list(d)) },
		func() string { return fmt.Sprintf("lookup(%s, \"a\", %s)", g.mapping(d), g.text(d)) },
		func() string { return fmt.Sprintf("nonsensitive(%s)", g.text(d)) },
		func() string { return fmt.Sprintf("coalesce(%s, %s)", g.text(d), g.text(d)) },
		func() string { return fmt.Sprintf("ephemeralasnull(%s)", g.text(d)) },
	)
}

func (g *expressions) list(d int) string {
	d--
	return g.pick(d, []string{"var.l", "local.list", `["a"]`, `tolist(["c", "d"])`, `sensitive(["e"])`, "var.el"},
		func() string { return fmt.Sprintf("[%s, %s]", g.text(d), g.text(d)) },
		func() string { return fmt.Sprintf("[for x in %s : upper(x)]", g.list(d)) },
		func() string { return fmt.Sprintf("[for x in %s : x if x != %s]", g.list(d), g.text(d)) },
		func() string { return fmt.Sprintf("concat(%s, %s)", g.list(d), g.list(d)) },
		func() string { return fmt.Sprintf("reverse(%s)", g.list(d)) },
		func() string { return fmt.Sprintf("ephemeralasnull(%s)", g.list(d)) },
		func() string { return fmt.Sprintf("values(%s)", g.mapping(d)) },
		func() string { return fmt.Sprintf("keys(%s)", g.mapping(d)) },
		func() string { return fmt.Sprintf("nonsensitive(%s)", g.list(d)) },
		func() string { return fmt.Sprintf("(%s ? %s : %s)", g.truth(d), g.list(d), g.list(d)) },
	)
}

func (g *expressions) mapping(d int) string {
	d--
	return g.pick(d, []string{"var.m", "local.mapping", `{ a = "z" }`, `sensitive({ a = "e" })`},
		func() string { return fmt.Sprintf("{ a = %s, c = %s }", g.text(d), g.text(d)) },
		func() string { return fmt.Sprintf("{ for k, v in %s : k => upper(v) }", g.mapping(d)) },
		func() string { return fmt.Sprintf("{ for x in %s : x => x... }", g.list(d)) },
		func() string { return fmt.Sprintf("merge(%s, %s)", g.mapping(d), g.mapping(d)) },
		func() string { return fmt.Sprintf("nonsensitive(%s)", g.mapping(d)) },
	)
}

func (g *expressions) number(d int) string {
	d--
	return g.pick(d, []string{"1", "var.n", "sensitive(3)"},
		func() string { return fmt.Sprintf("length(%s)", g.list(d)) },
		func() string { return fmt.Sprintf("length(%s)", g.mapping(d)) },
		func() string { return fmt.Sprintf("(%s + %s)", g.number(d), g.number(d)) },
		func() string { return fmt.Sprintf("max(%s, %s)", g.number(d), g.number(d)) },
	)
}

func (g *expressions) truth(d int) string {
	d--
	return g.pick(d, []string{"true", "sensitive(false)"},
		func() string { return fmt.Sprintf("issensitive(%s)", g.text(d)) },
		func() string { return fmt.Sprintf("issensitive(%s)", g.list(d)) },
		func() string { return fmt.Sprintf("(%s == %s)", g.text(d), g.text(d)) },
		func() string { return fmt.Sprintf("contains(%s, %s)", g.list(d), g.text(d)) },
		func() string { return fmt.Sprintf("(%s > %s)", g.number(d), g.number(d)) },
		func() string { return fmt.Sprintf("can(%s)", g.text(d)) },
	)
}
