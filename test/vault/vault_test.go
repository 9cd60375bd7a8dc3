// Package vault opens leases through Lethe with the published provider of OpenBao and Vault, and asks the server which
// leases are open.
package vault

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// dir returns the directory of the built programs, which TestMain removes.
var dir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "vault") })

func TestMain(m *testing.M) {
	code := m.Run()
	if d, err := dir(); err == nil {
		os.RemoveAll(d)
	}
	os.Exit(code)
}

// lethe returns the path of Lethe: LETHE_BIN, or a program that the first call builds.
var lethe = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin, nil
	}
	d, err := dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(d, "lethe")
	return path, source.Build("../..", "./cmd/lethe", path)
})

// release is version 5.9.0 of the provider. The path of its module has no major version, so Go knows only the commit.
var release = source.Module{
	Path: "github.com/hashicorp/terraform-provider-vault", Version: "v1.9.1-0.20260422134934-5e9fcd457a99",
	Sum: "h1:Y8APAoHlAT4+gXjv1X4cG96bWiYR8JgyZakAk94jPf4=",
}

// provider returns the path of the provider: LETHE_VAULT_PROVIDER, or a program that the first call builds from
// release.
var provider = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_VAULT_PROVIDER"); bin != "" {
		return bin, nil
	}
	d, err := dir()
	if err != nil {
		return "", err
	}
	src, err := release.Copy(d)
	if err != nil {
		return "", err
	}
	path := filepath.Join(d, "terraform-provider-vault")
	return path, source.Go(src, "build", "-o", path, ".")
})

// place is a directory with a configuration that uses leases of the server.
type place struct {
	t    *testing.T
	bao  *bao
	dir  string
	env  []string     // the whole environment of Lethe
	out  bytes.Buffer // the output of all commands
	exec string       // the path of the provider's program: a link that no other place has
}

// newPlace returns a place with a configuration, which may use the variable command. It skips the test if neither
// LETHE_LONG nor LETHE_VAULT_PROVIDER is set.
func newPlace(t *testing.T, config string) *place {
	t.Helper()
	if os.Getenv("LETHE_LONG") == "" && os.Getenv("LETHE_VAULT_PROVIDER") == "" {
		t.Skip("building the provider is a long run")
	}
	program, err := provider()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := lethe()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, bao: newBao(t), dir: t.TempDir()}
	p.exec = filepath.Join(p.dir, "bin/terraform-provider-vault")
	check(t, os.MkdirAll(filepath.Dir(p.exec), 0o755))
	check(t, os.Symlink(program, p.exec))
	check(t, os.Symlink(bin, filepath.Join(p.dir, "bin/lethe")))
	p.write(".rc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"registry.opentofu.org/hashicorp/vault\" = %q\n    \"registry.terraform.io/hashicorp/vault\" = %q\n  }\n}\n", filepath.Dir(p.exec), filepath.Dir(p.exec)))
	p.write("main.tf", `
terraform {
  required_providers {
    vault = {
      source = "hashicorp/vault"
    }
  }
}
provider "vault" {}
variable "command" {
  default = "true"
}
`+config)
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TF_CLI_CONFIG_FILE=" + filepath.Join(p.dir, ".rc"), "CHECKPOINT_DISABLE=1", "TF_INPUT=0",
		"VAULT_ADDR=" + p.bao.url, "VAULT_TOKEN=" + p.bao.token,
	}
	return p
}

// check ends the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file in the directory.
func (p *place) write(name, text string) {
	p.t.Helper()
	check(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

// start starts `lethe apply` with a value for the variable command. It does not wait for the end.
func (p *place) start(command string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.dir, "bin/lethe"), "apply", "-auto-approve", "-no-color", "-var=command="+command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &p.out, &p.out
	cmd.WaitDelay = 2 * time.Minute
	check(p.t, cmd.Start())
	return cmd
}

// until waits until a condition is true. After two minutes, it ends the test. The parameter what describes the
// condition in the message.
func (p *place) until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain for %s; the server was asked:\n%s", what, strings.Join(p.bao.log(), "\n"))
		}
	}
}

// log returns the method and URL of each request until now.
func (b *bao) log() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.asked...)
}

// forgotten fails the test if the output or a file in the directory contains a secret.
func (p *place) forgotten() {
	p.t.Helper()
	if bytes.Contains(p.out.Bytes(), []byte(canary)) {
		p.t.Errorf("a secret was printed:\n%s", &p.out)
	}
	check(p.t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			p.t.Errorf("a secret is in %s", path)
		}
		return err
	}))
}

// processes returns the process IDs of the place's running providers.
func (p *place) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if text, _ := os.ReadFile(name); strings.HasPrefix(string(text), p.exec+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// closes is a configuration that opens two leases, which the provider closes at the end of a run.
const closes = `
ephemeral "vault_terraform_token" "t" {
  role_name = "app"
}
ephemeral "vault_azure_access_credentials" "a" {
  backend = "azure"
  role    = "app"
}
resource "terraform_data" "use" {
  provisioner "local-exec" {
    command = var.command
    environment = {
      FIRST  = ephemeral.vault_terraform_token.t.token
      SECOND = ephemeral.vault_azure_access_credentials.a.client_secret
    }
  }
}
`

// TestLeasesAreClosed checks that the server lists no lease of a run after any kind of end.
func TestLeasesAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		do      func(p *place, cmd *exec.Cmd) // called while the command runs and both leases are open
		fails   bool
	}{
		"well":  {"echo well", nil, false},
		"error": {"echo no; exit 3", nil, true},
		"one interrupt": {"touch started; exec sleep 120", func(_ *place, cmd *exec.Cmd) {
			cmd.Process.Signal(syscall.SIGINT)
		}, true},
		"two interrupts": {"trap '' INT TERM; touch started; exec sleep 120", func(_ *place, cmd *exec.Cmd) {
			cmd.Process.Signal(syscall.SIGINT)
			time.Sleep(100 * time.Millisecond) // wait, because the program's output is read only when the program has ended
			cmd.Process.Signal(syscall.SIGINT)
		}, true},
		"kill -9": {"touch started; exec sleep 120", func(_ *place, cmd *exec.Cmd) {
			cmd.Process.Kill()
		}, true},
		"kill -9 of the provider": {"touch started; exec sleep 2", func(p *place, _ *exec.Cmd) {
			pids := p.processes()
			if len(pids) == 0 {
				p.t.Error("there is no provider")
			}
			for _, pid := range pids {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, closes)
			before := len(p.bao.open(t, "terraform")) + len(p.bao.open(t, "azure"))
			cmd := p.start(c.command)
			if c.do != nil {
				p.until("the command", func() bool {
					_, err := os.Stat(filepath.Join(p.dir, "started"))
					return err == nil
				})
				if len(p.bao.open(t, "terraform")) == 0 || len(p.bao.open(t, "azure")) == 0 {
					t.Errorf("while they are used: terraform %q, azure %q", p.bao.open(t, "terraform"), p.bao.open(t, "azure"))
				}
				c.do(p, cmd)
			}
			err := cmd.Wait()
			if (err != nil) != c.fails {
				t.Errorf("%v:\n%s", err, &p.out)
			}
			p.until("the leases to be closed", func() bool {
				return len(p.bao.open(t, "terraform"))+len(p.bao.open(t, "azure")) <= before
			})
			p.until("the providers to end", func() bool { return len(p.processes()) == 0 })
			if !p.bao.real && p.bao.opened == 0 {
				t.Errorf("no lease was opened:\n%s", &p.out)
			}
			t.Logf("%d leases opened, %d open", p.bao.opened, len(p.bao.open(t, "terraform"))+len(p.bao.open(t, "azure")))
			p.forgotten()
		})
	}
}

// TestNotClosedByProvider checks that the provider does not revoke credentials of a database, and does not report this.
// If that changes, update docs/reliability.md.
func TestNotClosedByProvider(t *testing.T) {
	p := newPlace(t, `
ephemeral "vault_database_secret" "d" {
  mount = "database"
  name  = "app"
}
resource "terraform_data" "use" {
  provisioner "local-exec" {
    command = var.command
    environment = {
      SECRET = ephemeral.vault_database_secret.d.password
    }
  }
}
`)
	if p.bao.real {
		t.Skip("about the provider alone, with the server of the tests")
	}
	if err := p.start("echo well").Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, &p.out)
	}
	if left := p.bao.open(t, "database"); len(left) == 0 {
		t.Error("the provider has revoked the lease: docs/reliability.md and the README say that it does not")
	}
	p.forgotten()
}
