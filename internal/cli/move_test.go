package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// TestMovesLeaveNoSecret draws configurations whose resources store secrets. After "secrets move -all", apply and
// scrub, no file contains a secret, and the next plan is empty. LETHE_LONG=1 draws more configurations, and other
// configurations in each run.
func TestMovesLeaveNoSecret(t *testing.T) {
	secondLane(t, drawsRandom)
	t.Parallel()
	bin, err := playground()
	if err != nil {
		t.Fatal(err)
	}
	seed, count := uint64(1), 6
	if os.Getenv("LETHE_LONG") != "" {
		seed, count = uint64(time.Now().Unix()), 150
	}
	t.Logf("seed %d", seed)
	for i := range count {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			d := &drawnSecrets{Rand: rand.New(rand.NewPCG(seed, uint64(i))), T: t, dir: t.TempDir()}
			d.draw()
			d.move(bin)
		})
	}
}

// drawnSecrets is a configuration with secrets.
type drawnSecrets struct {
	*rand.Rand
	*testing.T
	dir      string
	env      []string
	replaced []string // options for objects that a move replaces
}

const drawnProviders = `terraform {
  required_providers {
    playground  = { source = "lethe/playground" }
    playground5 = { source = "lethe/playground5" }
  }
}
`

// draw writes the configuration.
func (d *drawnSecrets) draw() {
	var root strings.Builder
	root.WriteString(drawnProviders)
	root.WriteString("variable \"flag\" {\n  default = true\n}\nvariable \"login\" {\n  type      = object({ user = string, password = string })\n  sensitive = true\n}\n")
	for _, name := range []string{"a", "b", "c"} {
		fmt.Fprintf(&root, "# variable %s\nvariable %q {\n  sensitive = true # kept\n}\n", name, name)
		d.env = append(d.env, fmt.Sprintf("TF_VAR_%s=canary-63cc-%s-%08x", name, name, d.Uint32()))
	}
	d.env = append(d.env, fmt.Sprintf("TF_VAR_login={user=\"u\",password=\"canary-63cc-login-%08x\"}", d.Uint32()))
	root.WriteString("locals {\n  plain  = var.a\n  joined = \"${var.b}-joined\"\n  object = { user = var.login.user, password = var.login.password }\n}\n")
	sources := []string{"var.a", "var.b", "var.c", "local.plain", "local.joined", "local.object.password", "var.login.password"}
	if d.IntN(2) == 0 {
		root.WriteString("data \"playground_null\" \"d\" {\n  inputs = { k = var.c }\n}\n")
		sources = append(sources, "data.playground_null.d.outputs[\"k\"]")
	}
	if d.IntN(2) == 0 {
		fmt.Fprintf(&root, "provider \"playground5\" {\n  token = %s\n}\n", d.source(sources))
	}
	if d.IntN(3) > 0 {
		repeat, instance := "", "module.m"
		if d.IntN(2) == 0 {
			repeat, instance = "  for_each = toset([\"x\", \"y\"])\n", "module.m[\"x\"]"
		}
		fmt.Fprintf(&root, "module \"m\" {\n  source   = \"./m\"\n%s  password = %s\n}\n", repeat, d.source(sources))
		sources = append(sources, instance+".back")
		var child strings.Builder
		child.WriteString(drawnProviders + "variable \"password\" {}\noutput \"back\" {\n  value     = \"back-${var.password}\"\n  sensitive = true\n}\n")
		for i := range 1 + d.IntN(2) {
			d.resource(&child, "module.m.", fmt.Sprintf("m%d", i), []string{"var.password"}, repeat != "")
		}
		d.file("m/main.tf", child.String())
	}
	for i := range 2 + d.IntN(4) {
		d.resource(&root, "", fmt.Sprintf("r%d", i), sources, false)
	}
	d.file("main.tf", root.String())
}

// source draws an expression that has a secret.
func (d *drawnSecrets) source(sources []string) string {
	one, other := sources[d.IntN(len(sources))], sources[d.IntN(len(sources))]
	switch d.IntN(6) {
	case 0:
		return fmt.Sprintf("\"p-${%s}\"", one)
	case 1:
		return fmt.Sprintf("join(\"-\", [%s, %s])", one, other)
	case 2:
		return fmt.Sprintf("length(%s) > 3 ? %s : %s", other, one, other)
	}
	return one
}

// resource draws a resource that stores a secret. anyName is true if its module has several instances.
func (d *drawnSecrets) resource(out *strings.Builder, module, name string, sources []string, anyName bool) {
	key, repeat := "", ""
	switch d.IntN(3) {
	case 0:
		key, repeat = "-${each.key}", "  for_each = toset([\"k\", \"l\"])\n"
	case 1:
		key, repeat = "-${count.index}", "  count = 2\n"
	}
	e := d.source(sources)
	kind := d.IntN(3)
	if kind == 0 && anyName {
		kind = 1 // a parameter of kind 0 has the same name in each module instance, and names of parameters must be unique
	}
	switch kind {
	case 0:
		fmt.Fprintf(out, "resource \"playground_ssm_parameter\" %q {\n%s  name  = \"%s%s\"\n  type  = \"SecureString\"\n  value = %s # value\n}\n", name, repeat, name, key, e)
	case 1:
		provision := ""
		if d.IntN(2) == 0 {
			provision = fmt.Sprintf("  provisioner \"local-exec\" {\n    command     = \"true\"\n    environment = { P = %s }\n  }\n", d.source(sources))
		}
		fmt.Fprintf(out, "resource \"playground5_thing\" %q {\n%s  name = \"%s%s\"\n\n  password = %s\n%s}\n", name, repeat, name, key, e, provision)
	case 2:
		fmt.Fprintf(out, "resource \"playground5_account\" %q {\n%s  name = \"%s%s\"\n  pin   = %s\n  token = %s\n}\n", name, repeat, name, key, e, d.source(sources))
		d.replaced = append(d.replaced, "-replace-ok="+module+"playground5_account."+name)
	}
}

func (d *drawnSecrets) file(name, text string) {
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.Fatal(err)
	}
}

// move applies the configuration, runs "secrets move -all", apply and scrub, and checks the result.
func (d *drawnSecrets) move(bin string) {
	d.file(".rc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"lethe/playground\"  = %q\n    \"lethe/playground5\" = %q\n  }\n}\n", bin, bin))
	d.file(".cloud/.keep", "")
	d.env = append(d.env, "HOME="+d.dir, "TMPDIR="+bin, "PATH="+os.Getenv("PATH"), "TF_CLI_CONFIG_FILE="+filepath.Join(d.dir, ".rc"), "PLAYGROUND_CLOUD="+filepath.Join(d.dir, ".cloud"),
		"PLAYGROUND_ACCOUNT=1", "LETHE_VERSION_KEY=0123456789abcdef", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	d.run("apply", "-auto-approve")
	d.run(append([]string{"secrets", "move", "-all"}, d.replaced...)...)
	d.run("apply", "-auto-approve")
	d.run("apply", "-refresh-only", "-auto-approve") // the state keeps the value of a parameter until the parameter is read again
	d.run("secrets", "scrub", "-auto-approve", "-last-copy")
	d.run("plan", "-detailed-exitcode")
	d.run("secrets")
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("canary-63cc")) {
			d.Errorf("%s contains a secret", path)
		}
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	if d.Failed() {
		d.configuration()
	}
}

// run runs a command, and fails the test if the command fails or prints a secret.
func (d *drawnSecrets) run(args ...string) {
	d.Helper()
	var out bytes.Buffer
	code := cli.Main(cli.Env{Args: args, Program: "lethe", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: d.dir, Now: time.Now, Environ: d.env})
	if code != 0 || strings.Contains(out.String(), "canary-63cc") {
		d.configuration()
		d.Fatalf("%v: exit %d\n%s", args, code, out.String())
	}
}

// configuration logs the files of the configuration, for a failed test.
func (d *drawnSecrets) configuration() {
	for _, name := range []string{"main.tf", "m/main.tf"} {
		text, _ := os.ReadFile(filepath.Join(d.dir, name)) // m/main.tf need not exist
		d.Logf("%s:\n%s", name, text)
	}
}
