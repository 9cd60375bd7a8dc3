package stores

import (
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// lethe returns the path of the program: LETHE_BIN, or a program that the first call builds.
var lethe = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "lethe-stores-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "lethe")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/lethe")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building lethe: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	// Most tests wait for pauses of stores and for other processes, not for the processor.
	flag.Parse()
	_ = flag.Set("test.parallel", "4")
	code := m.Run()
	if path, err := lethe(); err == nil && os.Getenv("LETHE_BIN") == "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// place is a place for states, and the environment that programs need for it.
type place struct {
	backend string   // the terraform block with the backend, or "" for a local state
	env     []string // variables in the form NAME=VALUE
}

// directory is a working directory, and a program with its environment.
type directory struct {
	*testing.T
	program, dir string
	env          []string // the whole environment of the program
}

const config = `
variable "v" {
  type = string
}
variable "hold" {
  type    = string
  default = ""
}
resource "terraform_data" "a" {
  input = var.v
  provisioner "local-exec" {
    command = var.hold == "" ? "true" : "touch ${var.hold}.here; while test -e ${var.hold}; do sleep 0.02; done"
  }
  triggers_replace = var.v
}
output "o" {
  value = terraform_data.a.output
}
`

// newDirectory returns a new directory with the configuration config and the backend of a place, in which init has run.
func newDirectory(t *testing.T, program string, p place) *directory {
	u := &directory{t, program, t.TempDir(), slices.Concat(os.Environ(), []string{"TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_IN_AUTOMATION=1"}, p.env)}
	check(t, os.WriteFile(filepath.Join(u.dir, "main.tf"), []byte(config+p.backend), 0o600))
	u.run(0, "init")
	return u
}

// cmd returns a command of the program in the directory, which has not started.
func (u *directory) cmd(args ...string) *exec.Cmd {
	cmd := exec.Command(u.program, args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	return cmd
}

// run runs a command, checks its exit code, and returns its standard output and standard error together.
func (u *directory) run(code int, args ...string) string {
	u.Helper()
	out, err := u.cmd(args...).CombinedOutput()
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		u.Fatal(err)
	}
	if got != code {
		u.Fatalf("%s %s exits %d, not %d:\n%s", filepath.Base(u.program), strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// holding starts an apply with the value v of the variable v, and waits until its provisioner runs. The provisioner
// ends when done is called.
func (u *directory) holding(v string) (cmd *exec.Cmd, done func()) {
	u.Helper()
	hold := filepath.Join(u.dir, "hold")
	check(u.T, os.WriteFile(hold, nil, 0o600))
	os.Remove(hold + ".here")
	cmd = u.cmd("apply", "-auto-approve", "-var", "v="+v, "-var", "hold="+hold)
	check(u.T, cmd.Start())
	held(u.T, hold)
	return cmd, func() { os.Remove(hold) }
}

// TestMixed lets Lethe and Terraform share states. Each continues from the state of the other, and waits while the
// other works.
func TestMixed(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tf, l := newDirectory(t, terraform, p), newDirectory(t, ours, p)
			tf.run(0, "apply", "-auto-approve", "-var", "v=1")
			l.run(0, "plan", "-detailed-exitcode", "-var", "v=1")
			l.run(0, "apply", "-auto-approve", "-var", "v=2")
			tf.run(0, "plan", "-detailed-exitcode", "-var", "v=2")
			for _, pair := range [][2]*directory{{l, tf}, {tf, l}} {
				first, second := pair[0], pair[1]
				cmd, done := first.holding("of the first")
				if out := second.run(1, "apply", "-auto-approve", "-var", "v=x"); !strings.Contains(out, "Error acquiring the state lock") {
					t.Errorf("%s: %s", second.program, out)
				}
				waiting := second.cmd("apply", "-auto-approve", "-lock-timeout=2m", "-var", "v=of the second")
				var said strings.Builder
				waiting.Stdout, waiting.Stderr = &said, &said
				check(t, waiting.Start())
				time.Sleep(300 * time.Millisecond) // usually, the command waits for the lock by then. Terraform prints no line about this
				done()
				check(t, cmd.Wait())
				if err := waiting.Wait(); err != nil {
					t.Fatalf("%s: %v\n%s", second.program, err, &said)
				}
				for _, u := range pair {
					if out := u.run(0, "output", "-raw", "o"); out != "of the second" {
						t.Errorf("%s: %q", u.program, out)
					}
				}
			}
		})
	}
}

// TestUnlockMixed kills each program while it holds the lock. Both programs can release the lock by the ID in the
// message of Lethe. On http Terraform's request has no ID and is refused.
func TestUnlockMixed(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, tf := pair(t, p)
			for _, tt := range []struct{ holder, breaks *directory }{{tf, l}, {l, tf}, {tf, tf}, {l, l}} {
				if name == "http" && tt.breaks == tf {
					continue
				}
				cmd, done := tt.holder.holding("x")
				check(t, cmd.Process.Kill())
				_ = cmd.Wait()
				done()
				out := l.run2("plan", "-no-color", "-var", "v=x")
				_, id, locked := strings.Cut(out, "  ID: ")
				if !locked {
					if name != "pg" { // locks of pg end with their process
						t.Errorf("it is not locked: %s", out)
					}
					continue
				}
				if _, other, has := strings.Cut(out, "Terraform and OpenTofu the ID is "); has && tt.breaks == tf {
					id = other
				}
				id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
				tt.breaks.run(0, "force-unlock", "-force", strings.TrimSpace(id))
				l.run(0, "plan", "-lock-timeout=1m", "-var", "v=x") // with a timeout, because Consul delays a lock after its session has ended
			}
		})
	}
}

// TestKilled kills a process in the middle of an apply. It leaves at most a lock. The next run on that machine recovers
// all created objects.
func TestKilled(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	all := places(t)
	all["pg in rows"] = rowsPlace(startPostgres(t), "killed")
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			u := newDirectory(t, ours, p)
			extra := "resource \"terraform_data\" \"first\" {\n  input = 1\n}\nresource \"terraform_data\" \"last\" {\n  depends_on = [terraform_data.first]\n  input = var.v\n  provisioner \"local-exec\" {\n    command = \"touch ${var.hold}.here; while test -e ${var.hold}; do sleep 0.02; done\"\n  }\n}\n"
			check(t, os.WriteFile(filepath.Join(u.dir, "main.tf"), []byte("variable \"v\" {}\nvariable \"hold\" {}\n"+extra+p.backend), 0o600))
			cmd, done := u.holding("x")
			check(t, cmd.Process.Kill())
			_ = cmd.Wait()
			done()
			out := u.run2("plan", "-var", "v=x", "-var", "hold=h")
			if _, id, locked := strings.Cut(out, "ID: "); locked {
				id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
				u.run(0, "force-unlock", "-force", strings.TrimSpace(id))
				out = u.run(0, "plan", "-var", "v=x", "-var", "hold=h")
			}
			if !strings.Contains(out, "Recovered an interrupted run") || strings.Contains(out, "terraform_data.first will be created") {
				t.Errorf("what was made is lost:\n%s", out)
			}
		})
	}
}

// run2 runs a command, which may fail, and returns its standard output and standard error together.
func (u *directory) run2(args ...string) string {
	out, _ := u.cmd(args...).CombinedOutput()
	return string(out)
}

// places starts a server of each kind until the end of the test, and returns a place on each, keyed by name.
func places(t *testing.T) map[string]place {
	server := httptest.NewServer(&storetest.HTTP{User: "u", Password: "canary-4711"})
	t.Cleanup(server.Close)
	service := startS3(t, withTable)
	s3 := fmt.Sprintf("terraform {\n  backend \"s3\" {\n    bucket = \"states\"\n    region = \"us-east-1\"\n    use_path_style = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true\n    skip_metadata_api_check = true\n    endpoints = {\n      s3 = %q\n      dynamodb = %q\n    }\n", service, service)
	keys := []string{"AWS_ACCESS_KEY_ID=user", "AWS_SECRET_ACCESS_KEY=canary-4711", "AWS_EC2_METADATA_DISABLED=true"}
	tfe := startTFE(t)
	return map[string]place{
		"cloud":                 {"terraform {\n  cloud {\n    hostname = \"tfe.test\"\n    organization = \"net\"\n    workspaces {\n      name = \"a\"\n    }\n  }\n}\n", tfe},
		"remote":                {"terraform {\n  backend \"remote\" {\n    hostname = \"tfe.test\"\n    organization = \"net\"\n    workspaces {\n      name = \"b\"\n    }\n  }\n}\n", tfe},
		"azurerm":               {"terraform {\n  backend \"azurerm\" {\n    storage_account_name = \"acct\"\n    container_name = \"states\"\n    key = \"a\"\n  }\n}\n", startAzure(t)},
		"gcs":                   {"terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n    prefix = \"a\"\n  }\n}\n", []string{"GOOGLE_OAUTH_ACCESS_TOKEN=canary-4711", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT=" + startGCS(t, plain) + "/storage/v1/"}},
		"gcs with a key":        {"terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n    prefix = \"b\"\n  }\n}\n", []string{"GOOGLE_OAUTH_ACCESS_TOKEN=canary-4711", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT=" + startGCS(t, plain) + "/storage/v1/", "GOOGLE_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString([]byte("canary-4711-canary-4711-canary-4"))}},
		"s3 with a lock object": {s3 + "    key = \"a\"\n    use_lockfile = true\n  }\n}\n", keys},
		"s3 with a table":       {s3 + "    key = \"b\"\n    dynamodb_table = \"locks\"\n  }\n}\n", keys},
		"http":                  {backend: "terraform {\n  backend \"http\" {\n    username = \"u\"\n  }\n}\n", env: []string{"TF_HTTP_PASSWORD=canary-4711", "TF_HTTP_ADDRESS=" + server.URL, "TF_HTTP_LOCK_ADDRESS=" + server.URL, "TF_HTTP_UNLOCK_ADDRESS=" + server.URL}},
		"consul":                {"terraform {\n  backend \"consul\" {\n    path = \"a\"\n    gzip = true\n  }\n}\n", []string{"CONSUL_HTTP_ADDR=" + startConsul(t, newConsul()), "CONSUL_HTTP_TOKEN=canary-4711"}},
		"kubernetes":            {"terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"a\"\n  }\n}\n", []string{"KUBE_CONFIG_PATH=" + startKube(t, plain)}},
		"pg":                    {backend: "terraform {\n  backend \"pg\" {\n  }\n}\n", env: []string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + startPostgres(t) + "/postgres?sslmode=disable"}},
	}
}

// pair returns two directories with the same place, for Lethe and for Terraform. It skips the test if Terraform is not
// installed.
func pair(t *testing.T, p place) (l, tf *directory) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	return newDirectory(t, ours, p), newDirectory(t, terraform, p)
}

// exchange lets each of two programs read and replace large and small states of the other.
func exchange(t *testing.T, a, b *directory) {
	serial := 0
	for _, size := range []int{3, 3, 0, 2, 0} {
		for _, p := range [][2]*directory{{a, b}, {b, a}} {
			serial++
			noise := make([]byte, size<<20)
			_, _ = rand.NewChaCha8([32]byte{byte(serial)}).Read(noise)
			text := base64.StdEncoding.EncodeToString(noise)
			file := filepath.Join(p[0].dir, "pushed")
			check(t, os.WriteFile(file, fmt.Appendf(nil, `{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{"o":{"value":%q,"type":"string"}},"resources":[]}`, serial, text), 0o600))
			p[0].run(0, "state", "push", "-force", file)
			for _, u := range p {
				if out := u.run(0, "output", "-raw", "o"); out != text {
					t.Fatalf("%s reads %d bytes, which are not the %d that %s has written", u.program, len(out), len(text), p[0].program)
				}
			}
		}
	}
}
