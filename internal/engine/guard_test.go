package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// The guard (the check of provider answers for secrets) checks the private data in every plan of a provider. It does so
// even if the plan equals the proposal, and for objects that will be destroyed.
func TestPlannedPrivateData(t *testing.T) {
	const canary = "canary-0f3d-in-private-data"
	for name, c := range map[string]struct {
		name string
		mode plan.Mode
	}{"an update as proposed": {"b", plan.Normal}, "a destruction": {"a", plan.Destroy}} {
		t.Run(name, func(t *testing.T) {
			w, p := newPlantWorld(t)
			w.engine.Secrets = &secret.Set{}
			w.vars = map[string]frame.Given{"s": {Value: cty.StringVal(canary)}}
			config := func(name string) string {
				return "variable \"s\" {\n  ephemeral = true\n}\nresource \"plant_item\" \"a\" {\n  name = \"" + name + "\"\n}\n"
			}
			w.apply(map[string]string{"main.tf": config("a")}, nil)
			p.private = []byte("the token is " + canary)
			prog := w.compile(map[string]string{"main.tf": config(c.name)})
			var bag diag.Bag
			r, ok := w.engine.Plan(context.Background(), Request{Program: prog, State: w.state, Refresh: true, Mode: c.mode, Options: frame.Options{Variables: w.vars, Workspace: "default"}}, &bag)
			if ok || len(bag.List()) != 1 || bag.List()[0].Summary != "Provider produced invalid plan" {
				t.Errorf("ok %v: %v", ok, bag.List())
			}
			for _, x := range r.Plan.Changes {
				if bytes.Contains(x.Private, []byte(canary)) {
					t.Errorf("the plan for %s has the secret", x.Object)
				}
			}
		})
	}
}

// A provider under test (attached by another program) may return its configuration in objects, because some providers
// exist for that purpose. It must not return other secrets.
func TestTestedProviderShowsItsConfiguration(t *testing.T) {
	const configured, given = "canary-0f3d-for-the-provider", "canary-0f3e-for-the-object"
	for _, c := range []struct {
		name   string
		tested bool
		text   string
		ok     bool
	}{
		{"its configuration", true, configured, true},
		{"something else", true, given, false},
		{"its configuration, outside of a test", false, configured, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := newPlantWorld(t)
			w.engine.Secrets = &secret.Set{}
			w.engine.Providers.Echoes = func(addr.Provider) bool { return c.tested }
			w.vars = map[string]frame.Given{"c": {Value: cty.StringVal(configured)}, "g": {Value: cty.StringVal(given)}}
			prog := w.compile(map[string]string{"main.tf": `
variable "c" {
  ephemeral = true
}
variable "g" {
  ephemeral = true
}
provider "plant" {
  token = var.c
}
resource "plant_safe" "a" {
  name   = "a"
  secret = var.g
}
`})
			p.private = []byte(c.text)
			var bag diag.Bag
			_, ok := w.engine.Plan(context.Background(), Request{Program: prog, State: w.state, Options: frame.Options{Variables: w.vars, Workspace: "default"}}, &bag)
			if ok != c.ok {
				t.Errorf("ok %v: %v", ok, bag.List())
			}
		})
	}
}

// The text of a plain variable is not a secret, even if the plan validates provisioners first.
func TestPlainVariableBesideProvisioners(t *testing.T) {
	const text = "canary-0f3f-in-two-variables"
	w, p := newPlantWorld(t)
	w.engine.Secrets = &secret.Set{}
	w.vars = map[string]frame.Given{"s": {Value: cty.StringVal(text)}, "plain": {Value: cty.StringVal(text)}}
	p.private = []byte("made of " + text)
	w.plan(w.compile(map[string]string{"main.tf": `
variable "s" {
  ephemeral = true
}
variable "plain" {
}
resource "plant_item" "a" {
  name = "a"
  provisioner "local-exec" {
    command = "true"
  }
}
`}), nil)
}
