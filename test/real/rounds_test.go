package real

import (
	"strings"
	"testing"
)

// TestRoundsOfADatabase creates a database, a role with an ephemeral password, and schemas as that role, with one apply. The
// provider's settings and the names of the schemas are known only in later rounds.
func TestRoundsOfADatabase(t *testing.T) {
	server := startServer(t)
	var port string
	for _, s := range server {
		if v, ok := strings.CutPrefix(s, "PGPORT="); ok {
			port = v
		}
	}
	p := &place{T: t, program: must(lethe())(t), dir: t.TempDir(), home: t.TempDir(), env: []string{"PGSSLMODE=disable", "TF_VAR_password=canary-63cc"}}
	p.offered("postgresql")
	requirePasswords(t, server)
	p.write("main.tf", strings.ReplaceAll(chainConfig, "PORT", port))
	p.must("init")

	out := p.must("apply -auto-approve")
	for _, want := range []string{
		"postgresql_schema.copy[*] is decided after data.postgresql_schemas.present is read",
		"Round 2 complete.",
		"Apply complete! Resources: 4 added, 0 changed, 0 destroyed.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	owner := queryIn(t, server, "app", "select nspowner::regrole from pg_namespace where nspname = 'copy_of_public'")
	if strings.TrimSpace(owner) != "app" {
		t.Errorf("the schema belongs to %q", owner)
	}
	p.login(server, "canary-63cc", true)
	p.without("canary-63cc")
	p.must("plan -detailed-exitcode")
	p.must("destroy -auto-approve")
	p.without("canary-63cc")
	if left := query(t, server, "select rolname from pg_roles where rolname = 'app' union select datname from pg_database where datname = 'app'"); left != "" {
		t.Errorf("destroy left %s", left)
	}
}

const chainConfig = `terraform {
  required_providers {
    postgresql = { source = "cyrilgdn/postgresql" }
  }
}

resource "terraform_data" "server" {
  input = { host = "127.0.0.1", port = PORT }
}

provider "postgresql" {
  host     = terraform_data.server.output.host
  port     = terraform_data.server.output.port
  username = "postgres"
}

variable "password" {
  type      = string
  ephemeral = true
}

resource "postgresql_role" "app" {
  name                = "app"
  login               = true
  password_wo         = var.password
  password_wo_version = "1"
}

resource "postgresql_database" "app" {
  name  = "app"
  owner = postgresql_role.app.name
}

provider "postgresql" {
  alias     = "app"
  host      = terraform_data.server.output.host
  port      = terraform_data.server.output.port
  database  = postgresql_database.app.name
  username  = postgresql_role.app.name
  password  = var.password
  superuser = false
}

data "postgresql_schemas" "present" {
  provider          = postgresql.app
  database          = postgresql_database.app.name
  like_any_patterns = ["public"]
}

resource "postgresql_schema" "copy" {
  provider = postgresql.app
  for_each = toset(data.postgresql_schemas.present.schemas)
  name     = "copy_of_${each.key}"
}
`
