package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/state"
)

func newPluginWorld(t *testing.T) *world {
	if _, err := os.Stat("/tmp/pg/terraform-provider-playground"); err != nil {
		t.Skip("scratch")
	}
	log := t.TempDir() + "/log"
	pool := provider.NewPool(&launch.Processes{
		Find:    func(p addr.Provider) (string, error) { return "/tmp/pg/terraform-provider-" + p.Type, nil },
		Env:     append(os.Environ(), "PLAYGROUND_LOG="+log, "PLAYGROUND_CLOUD="+t.TempDir()),
		Version: "1.12.0",
	})
	t.Cleanup(func() { pool.Close() })
	return &world{t: t, engine: &Engine{Pool: pool, Now: time.Now}, state: &state.Snapshot{}, log: log}
}

func TestPlugin(t *testing.T) {
	w := newPluginWorld(t)
	main := `
terraform {
  required_providers {
    playground = { source = "lethe/playground" }
  }
}
resource "playground_thing" "a" {
  name = "one"
  size = 3
  tags = { a = "b" }
  disks = [{ name = "d", size = 4 }]
}
resource "playground_thing" "b" {
  count   = 2
  name    = "${playground_thing.a.id}-${count.index}"
  replace = playground_thing.a.value
}
data "playground_null" "n" { inputs = { x = "y" } }
output "id" { value = playground_thing.b[*].id }
output "data" { value = data.playground_null.n.outputs }
`
	files := map[string]string{"main.tf": main}
	t.Log(w.apply(files, nil))
	if got := w.apply(files, nil); got != "" {
		t.Errorf("second apply: %s", got)
	}
	files["main.tf"] = strings.Replace(main, "size = 3", "size = 4", 1)
	t.Log(w.apply(files, nil))
	files["main.tf"] = strings.Replace(main, "count   = 2", "count = 1\n lifecycle {\n create_before_destroy = true\n}", 1)
	t.Log(w.apply(files, nil))
	t.Log(w.apply(files, func(r *Request) { r.Mode = plan.Destroy }))
}

func TestEphemeral(t *testing.T) {
	w := newPluginWorld(t)
	main := `
terraform {
  required_providers {
    playground = { source = "lethe/playground" }
  }
}
ephemeral "playground_lease" "l" { name = "x" }
provider "playground" {
  alias = "two"
  token = ephemeral.playground_lease.l.token
}
resource "playground_secret" "s" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
}
resource "playground_thing" "via" {
  provider = playground.two
  name     = "via"
}
`
	files := map[string]string{"main.tf": main}
	t.Log(w.apply(files, nil))
	t.Log(w.apply(files, nil))
	t.Log(w.apply(files, func(r *Request) { r.Mode = plan.Destroy }))
	log, _ := os.ReadFile(w.log)
	for _, l := range strings.Split(string(log), "\n") {
		if len(l) > 230 {
			l = l[:230]
		}
		t.Log(l)
	}
}
