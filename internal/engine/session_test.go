package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// One plan with its apply starts one provider process, and makes only the necessary calls for each resource.
func TestCallsPerApply(t *testing.T) {
	w, p := newPlantWorld(t)
	files := map[string]string{"main.tf": plantHead + `
provider "plant" { region = "here" }
resource "plant_item" "a" {
  count = 10
  name  = "item ${count.index}"
}
`}
	w.apply(files, nil)
	expect(t, "create", p.calls(), "start 1, validate 10, plan 10, apply 10, configure 1")
	w.apply(files, nil)
	expect(t, "no-op", p.calls(), "start 1, validate 10, upgrade 10, read 10, plan 10, configure 1")
	w.apply(files, func(r *Request) { r.Refresh = false })
	expect(t, "without refresh", p.calls(), "start 1, validate 10, upgrade 10, plan 10, configure 1")
	w.apply(files, func(r *Request) { r.Mode = plan.Destroy })
	expect(t, "destroy", p.calls(), "start 1, upgrade 10, read 10, plan 10, apply 10, configure 1")
	if n := p.alive(); n > 0 {
		t.Errorf("%d processes live on after apply", n)
	}
}

// An apply uses the provider process of the plan only if the provider's settings are the same.
func TestSessionsAreKept(t *testing.T) {
	settings := func(s string) map[string]string {
		return map[string]string{"main.tf": plantHead + s + `
resource "plant_item" "a" { name = "x" }
`}
	}
	for name, c := range map[string]struct {
		settings string
		change   func(*world)
		want     string
	}{
		"the same settings": {`provider "plant" { region = "r" }`, nil, "start 1, validate 1, plan 1, apply 1, configure 1"},
		"closed": {`provider "plant" { region = "r" }`, func(w *world) { w.engine.Closed = shortcut.Sessions },
			"start 2, validate 1, plan 1, apply 1, configure 2"},
		"ephemeral settings": {`
variable "token" {
  ephemeral = true
  default   = "canary"
}
provider "plant" { token = var.token }`, nil, "start 2, validate 1, plan 1, apply 1, configure 2"},
		"settings that are known only when applying": {`
resource "terraform_data" "t" { input = "x" }
provider "plant" { token = terraform_data.t.id }`, nil, "start 2, validate 2, plan 2, apply 1, configure 2"},
		"settings that differ from time to time": {`provider "plant" { token = timestamp() }`, func(w *world) {
			var days time.Duration
			w.engine.Now = func() time.Time { days++; return time.Unix(0, 0).Add(days * time.Second) }
		}, "start 2, validate 2, plan 2, apply 1, configure 2"},
		"a long time to think": {`provider "plant" { region = "r" }`, func(w *world) {
			var hours time.Duration
			w.engine.Now = func() time.Time { hours++; return time.Unix(0, 0).Add(hours * time.Hour) }
		}, "start 2, validate 1, plan 1, apply 1, configure 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newPlantWorld(t)
			builtin(w)
			if c.change != nil {
				c.change(w)
			}
			w.apply(settings(c.settings), nil)
			expect(t, name, p.calls(), c.want)
			if n := p.alive(); n > 0 {
				t.Errorf("%d processes live on after apply", n)
			}
		})
	}
}

// After a failed plan no provider process is kept for the apply, because the process may be faulty.
func TestSessionsAreNotKeptAfterAnError(t *testing.T) {
	w, p := newPlantWorld(t)
	prog := w.compile(map[string]string{"main.tf": plantHead + `
resource "plant_item" "a" { name = "x" }
resource "plant_item" "b" {
  name = "y"
  lifecycle {
    precondition {
      condition     = length(terraform.workspace) > 100
      error_message = "This always fails."
    }
  }
}
`})
	var bag diag.Bag
	_, ok := w.engine.Plan(context.Background(), Request{Program: prog, State: w.state, Options: frame.Options{Workspace: "default"}}, &bag)
	if ok || !strings.Contains(bag.List()[0].Detail, "always fails") {
		t.Fatalf("the plan should fail: %v", bag.List())
	}
	if n := p.alive(); n > 0 {
		t.Errorf("%d processes are kept", n)
	}
}
