package view

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// The files in testdata/peer are configurations and the output of Terraform 1.11.4 for them. To record them again, have
// terraform on PATH, build test/providers into a directory, and run
//
//	go test ./internal/view -run TestRecord -record DIR [-case NAME]
//
// Each case is a txtar archive. N.tf is the configuration of step N, N.sh runs before it, and N.flags has the flags of
// plan. All steps except the last are applied. The last step is planned, and is also applied if the archive has a file
// named "apply". All other files in the archive are recorded.
var (
	recordDir  = flag.String("record", "", "directory of the playground providers: record what terraform prints")
	recordCase = flag.String("case", "", "record only this case")
)

func TestRecord(t *testing.T) {
	if *recordDir == "" {
		t.Skip("recording was not asked for (-record)")
	}
	mirror := providerMirror(t, *recordDir)
	if *recordCase == "" || *recordCase == "schemas" {
		recordSchemas(t, mirror)
	}
	files, err := filepath.Glob("testdata/peer/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if *recordCase != "" && *recordCase != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record(t, file, mirror)
		})
	}
}

// providerMirror creates a file system mirror with links to the providers in a directory. It returns the path of a CLI
// configuration file that names the mirror.
func providerMirror(t *testing.T, bin string) string {
	dir := t.TempDir()
	for _, name := range []string{"playground", "playground5", "rogue"} {
		at := filepath.Join(dir, "registry.opentofu.org/lethe", name, "1.0.0/linux_amd64")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		abs, _ := filepath.Abs(filepath.Join(bin, "terraform-provider-"+name))
		if err := os.Symlink(abs, filepath.Join(at, "terraform-provider-"+name+"_v1.0.0")); err != nil {
			t.Fatal(err)
		}
	}
	rc := filepath.Join(dir, "rc")
	text := "provider_installation {\n  filesystem_mirror { path = \"" + dir + "\" }\n}\n"
	if err := os.WriteFile(rc, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return rc
}

// recordSchemas records the schemas of the providers. rc is the path of a CLI configuration file.
func recordSchemas(t *testing.T, rc string) {
	l := newLab(t, rc)
	l.prepare(map[string]string{"1.tf": `terraform {
  required_providers {
    playground  = { source = "registry.opentofu.org/lethe/playground" }
    playground5 = { source = "registry.opentofu.org/lethe/playground5" }
    rogue       = { source = "registry.opentofu.org/lethe/rogue" }
  }
}
data "terraform_remote_state" "x" { backend = "local" }
`}, 1)
	if err := os.WriteFile("testdata/peer/schemas.json", []byte(l.run("providers", "schema", "-json")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lab is a directory in which terraform runs.
type lab struct {
	t   *testing.T
	dir string
	env []string
}

// run runs terraform and returns its output and errors together. It fails the test after a failure without a message,
// but not after exit status 2.
func (l *lab) run(args ...string) string {
	cmd := exec.Command("terraform", args...)
	cmd.Dir, cmd.Env = l.dir, l.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !strings.Contains(out.String(), "Error: ") && cmd.ProcessState.ExitCode() != 2 {
		l.t.Fatalf("terraform %v: %v\n%s", args, err, out.String())
	}
	return l.clean(out.String())
}

func (l *lab) clean(s string) string {
	return strings.ReplaceAll(s, l.dir, "/lab")
}

// record runs terraform for the configurations in an archive, and replaces the recorded files in it.
func record(t *testing.T, file, rc string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := txtar.Parse(data)
	out := &txtar.Archive{Comment: in.Comment}
	get := map[string]string{}
	for _, f := range in.Files {
		if isInput(f.Name) {
			out.Files = append(out.Files, f)
			get[f.Name] = string(f.Data)
		}
	}
	put := func(name, text string) {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	l := newLab(t, rc)
	last := 1
	for get[step(last+1, ".tf")] != "" {
		last++
	}
	for n := 1; n <= last; n++ {
		l.prepare(get, n)
		flags := strings.Fields(get[step(n, ".flags")])
		if n < last {
			out := l.run(append([]string{"apply", "-no-color", "-auto-approve", "-input=false"}, flags...)...)
			if strings.Contains(out, "Error: ") && !strings.Contains(get[step(n, ".flags")], "-var=may=fail") {
				t.Log(out)
			}
			continue
		}
		put("plan.txt", l.run(append([]string{"plan", "-no-color", "-input=false", "-out=tfplan"}, flags...)...))
		if _, err := os.Stat(filepath.Join(l.dir, "tfplan")); err == nil {
			put("plan.json", l.run("show", "-json", "tfplan"))
		}
	}
	if _, ok := get["apply"]; ok {
		put("apply.txt", l.run("apply", "-no-color", "-input=false", "tfplan"))
		put("state.txt", l.run("show", "-no-color"))
		put("state.json", l.run("show", "-json"))
		put("output.txt", l.run("output", "-no-color"))
		state, err := os.ReadFile(filepath.Join(l.dir, "terraform.tfstate"))
		if err != nil {
			t.Fatal(err)
		}
		put("terraform.tfstate", string(state))
	}
	if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

func step(n int, ext string) string { return string(rune('0'+n)) + ext }

func isInput(name string) bool {
	return name == "apply" || strings.HasPrefix(name, "lethe.") || len(name) > 2 && name[0] >= '1' && name[0] <= '9' && name[1] == '.' || strings.HasPrefix(name, "mod")
}

func newLab(t *testing.T, rc string) *lab {
	dir := t.TempDir()
	cloud := filepath.Join(dir, "cloud")
	if err := os.Mkdir(cloud, 0o755); err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, dir: dir, env: append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1",
		"PLAYGROUND_IDS=name", "PLAYGROUND_CLOUD="+cloud, "HOME="+dir)}
}

// prepare writes the configuration of step n, initializes it, and runs the script of the step. get has the files of the
// archive by name.
func (l *lab) prepare(get map[string]string, n int) {
	for name, text := range get {
		if strings.HasPrefix(name, "mod") {
			at := filepath.Join(l.dir, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				l.t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, "main.tf"), []byte(get[step(n, ".tf")]), 0o644); err != nil {
		l.t.Fatal(err)
	}
	out := l.run("init", "-no-color", "-input=false")
	if strings.Contains(out, "Error: ") {
		l.t.Fatal(out)
	}
	if sh := get[step(n, ".sh")]; sh != "" {
		cmd := exec.Command("sh", "-ec", sh)
		cmd.Dir, cmd.Env = l.dir, l.env
		if out, err := cmd.CombinedOutput(); err != nil {
			l.t.Fatalf("%v: %s", err, out)
		}
	}
}
