package real

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// TestMoveOfARole moves the password of a PostgreSQL role out of the state. The role can log in after the move, the
// apply and the scrub, and with a new password after a rotation.
func TestMoveOfARole(t *testing.T) {
	server := startServer(t)
	p := &place{T: t, program: must(lethe())(t), dir: t.TempDir(), home: t.TempDir(), env: server}
	p.offered("postgresql")
	requirePasswords(t, server)
	p.write("main.tf", roleConfig)
	p.env = append(p.env, "LETHE_VERSION_KEY=0123456789abcdef0123", "TF_VAR_password=canary-61aa-first")
	p.must("init")
	p.must("apply -auto-approve")
	p.login(server, "canary-61aa-first", true)
	p.login(server, "canary-61aa-wrong", false)

	out := p.must("secrets move postgresql_role.app.password")
	for _, want := range []string{"The value is afterwards in the ephemeral variable var.password.", "postgresql_role.app will be updated in-place", "1 file was edited: main.tf."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	p.login(server, "canary-61aa-first", true)
	p.must("apply -auto-approve")
	p.login(server, "canary-61aa-first", true)
	p.must("secrets scrub -auto-approve")
	p.login(server, "canary-61aa-first", true)
	p.without("canary-61aa")
	p.must("plan -detailed-exitcode")
	p.must("secrets")

	p.env = append(p.env, "TF_VAR_password=canary-61aa-second")
	if out := p.must("apply -auto-approve"); !strings.Contains(out, "1 -> 2") {
		t.Errorf("no rotation:\n%s", out)
	}
	p.login(server, "canary-61aa-second", true)
	p.login(server, "canary-61aa-first", false)
	p.must("plan -detailed-exitcode")
	p.without("canary-61aa")
}

const roleConfig = `terraform {
  required_providers {
    postgresql = { source = "cyrilgdn/postgresql" }
  }
}

variable "password" {
  type      = string
  sensitive = true
}

resource "postgresql_role" "app" {
  name     = "app"
  login    = true
  password = var.password
}
`

// requirePasswords makes the server require a password from the role app.
func requirePasswords(t *testing.T, server []string) {
	t.Helper()
	path := strings.TrimSpace(query(t, server, "show hba_file"))
	old, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, append([]byte("host all app 127.0.0.1/32 scram-sha-256\n"), old...), 0o600))
	query(t, server, "select pg_reload_conf()")
}

// query runs a query in the database postgres, and returns its output.
func query(t *testing.T, server []string, text string) string {
	return queryIn(t, server, "postgres", text)
}

// queryIn runs a query in a database, and returns its output. server has the settings of startServer.
func queryIn(t *testing.T, server []string, database, text string) string {
	t.Helper()
	cmd := exec.Command("psql", "-At", "-d", database, "-c", text)
	cmd.Env = append(os.Environ(), server...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(out)
}

// login checks that the role app can log in with a password if want is true, and cannot otherwise.
func (p *place) login(server []string, password string, want bool) {
	p.Helper()
	cmd := exec.Command("psql", "-w", "-d", "postgres", "-c", "select 1")
	cmd.Env = append(append(os.Environ(), server...), "PGUSER=app", "PGPASSWORD="+password)
	if out, err := cmd.CombinedOutput(); (err == nil) != want {
		p.Fatalf("login: %v\n%s", err, out)
	}
}

// must runs a command, whose arguments are separated by blanks, and returns its output. The command must succeed, and
// its output must not contain the word canary.
func (p *place) must(args string) string {
	p.Helper()
	out, code := p.run(append(strings.Fields(args), "-no-color")...)
	if code != 0 || strings.Contains(out, "canary") {
		p.Fatalf("%s: exit %d\n%s", args, code, out)
	}
	return out
}

func (p *place) write(name, text string) {
	p.Helper()
	check(p.T, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// without checks that no file below the working directory contains a text.
func (p *place) without(text string) {
	p.Helper()
	check(p.T, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			p.Errorf("%s contains %s", path, text)
		}
		return err
	}))
}

// offered adds a provider of suites to the mirror of the place. It skips the test if its source is not available.
func (p *place) offered(name string) {
	p.Helper()
	x := suiteOf(name)
	if _, err := x.from(); errors.Is(err, source.ErrAbsent) {
		p.Skip(err)
	}
	x.offer(p.T, p.home, x.version)
}

// TestMoveOnAWS moves secrets with the AWS provider, which LETHE_PROVIDER_MIRROR contains, and a server that imitates
// AWS.
func TestMoveOnAWS(t *testing.T) {
	mirror := os.Getenv("LETHE_PROVIDER_MIRROR")
	moto, err := exec.LookPath("moto_server")
	if mirror == "" || err != nil {
		t.Skip("needs LETHE_PROVIDER_MIRROR and moto_server")
	}
	port := fmt.Sprint(freePort(t))
	cmd := exec.Command(moto, "-p", port)
	check(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	p := &place{T: t, program: must(lethe())(t), dir: t.TempDir(), home: t.TempDir()}
	p.offered("random")
	rc := filepath.Join(p.home, "rc")
	check(t, os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n    include = [\"hashicorp/aws\"]\n  }\n  filesystem_mirror {\n    path = %q\n    exclude = [\"hashicorp/aws\"]\n  }\n}\n",
		mirror, filepath.Join(p.home, ".terraform.d/plugins")), 0o600))
	p.env = []string{"TF_CLI_CONFIG_FILE=" + rc, "LETHE_VERSION_KEY=0123456789abcdef0123", "TF_VAR_password=canary-62bb-first!"}
	p.write("main.tf", strings.ReplaceAll(awsConfig, "PORT", port))
	p.must("init")
	p.must("apply -auto-approve")

	// The version of a secret is replaced, so the plan shows the replacement, and the move needs permission.
	out, code := p.run("secrets", "move", "-no-color", "aws_secretsmanager_secret_version.db.secret_string")
	if code != 1 || !strings.Contains(out, "must be replaced") || !strings.Contains(out, "-replace-ok=aws_secretsmanager_secret_version.db") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	// The generated value moves only after the stored arguments that use it.
	if out, code = p.run("secrets", "move", "-no-color", "random_password.app.result"); code != 1 || !strings.Contains(out, "Move that argument first") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	out = p.must("secrets move -all -replace-ok=aws_secretsmanager_secret_version.db -replace-ok=aws_secretsmanager_secret_version.app")
	for _, want := range []string{"aws_ssm_parameter.db.value: the planned state still has the value", "aws_secretsmanager_secret_version.db must be replaced", "so the value would be lost"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	p.must("apply -auto-approve")
	p.must("plan -detailed-exitcode")
	p.must("secrets move random_password.app.result")
	p.must("apply -auto-approve")
	p.must("apply -refresh-only -auto-approve")
	p.must("secrets scrub -auto-approve -last-copy")
	p.must("plan -detailed-exitcode")
	p.without("canary-62bb")
	p.must("secrets")

	// The user rotates the password.
	p.env = append(p.env, "TF_VAR_password=canary-62bb-second!")
	if out := p.must("apply -auto-approve -no-color"); !strings.Contains(out, "value_wo_version = 1 -> 2") {
		t.Errorf("no rotation:\n%s", out)
	}
	p.without("canary-62bb")
}

const awsConfig = `terraform {
  required_providers {
    aws    = { source = "hashicorp/aws" }
    random = { source = "hashicorp/random" }
  }
}

provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  endpoints {
    ssm            = "http://127.0.0.1:PORT"
    secretsmanager = "http://127.0.0.1:PORT"
  }
}

variable "password" {
  type      = string
  sensitive = true
}

resource "aws_ssm_parameter" "db" {
  name  = "/db/password"
  type  = "SecureString"
  value = var.password
}

resource "aws_secretsmanager_secret" "db" {
  name = "db"
}

resource "aws_secretsmanager_secret_version" "db" {
  secret_id     = aws_secretsmanager_secret.db.id
  secret_string = var.password
}

resource "random_password" "app" {
  length = 24
}

resource "aws_secretsmanager_secret" "app" {
  name = "app"
}

resource "aws_secretsmanager_secret_version" "app" {
  secret_id     = aws_secretsmanager_secret.app.id
  secret_string = random_password.app.result
}

resource "aws_ssm_parameter" "app" {
  name  = "/app/password"
  type  = "SecureString"
  value = random_password.app.result
}
`
