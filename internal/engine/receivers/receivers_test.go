package receivers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// text formats the received instances of ephemeral resources: "x[same]" for the instance with the receiver's own key,
// "x[3]" for one instance, "x" for all.
func text(p *program.Program, list []Received) string {
	var out []string
	for _, w := range list {
		name := p.Decls()[w.Of].Resource.Name
		if w.Instances == nil {
			out = append(out, name)
		}
		for _, i := range w.Instances {
			if i.Same {
				out = append(out, name+"[same]")
			} else {
				out = append(out, name+i.Key.String())
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const keys = `
ephemeral "t_key" "k" {
  count = 2
}
ephemeral "t_key" "single" {
}
ephemeral "t_key" "derived" {
  of = ephemeral.t_key.single.token
}
`

func TestReceived(t *testing.T) {
	for what, c := range map[string]struct{ config, want string }{
		"an argument":                 {`a = ephemeral.t_key.single.token`, "single[]"},
		"of the same key":             {"count = 2\n a = ephemeral.t_key.k[count.index].token", "k[same]"},
		"a fixed one":                 {`a = ephemeral.t_key.k[1].token`, "k[1]"},
		"all of them":                 {`a = ephemeral.t_key.k[*].token`, "k"},
		"fixed and all":               {"a = ephemeral.t_key.k[*].token\n b = ephemeral.t_key.k[0].token", "k"},
		"along a local":               {`a = local.along`, "k[0]"},
		"through another lease":       {`a = ephemeral.t_key.derived.token`, "derived[]"},
		"made null":                   {`a = ephemeralasnull(ephemeral.t_key.single.token)`, ""},
		"by depends_on":               {`depends_on = [ephemeral.t_key.k]`, "k"},
		"a postcondition":             {"lifecycle {\n postcondition {\n condition = ephemeral.t_key.single.token != null\n error_message = \"no\"\n}\n}", "single[]"},
		"a provisioner's are its own": {"provisioner \"local-exec\" {\n command = ephemeral.t_key.single.token\n}", ""},
	} {
		t.Run(what, func(t *testing.T) {
			p := enginetest.Program(t, map[string]string{"main.tf": keys + "locals {\n along = ephemeral.t_key.k[0].token\n}\nresource \"t_item\" \"x\" {\n" + c.config + "\n}\n"})
			if got := text(p, Analyse(p, nil).Received(enginetest.Declaration(t, p, "t_item.x").ID)); strings.ReplaceAll(got, "[]", "") != strings.ReplaceAll(c.want, "[]", "") {
				t.Errorf("received %q, want %q", got, c.want)
			}
		})
	}
}

// If each receiver names one instance of an ephemeral resource, each instance is opened and closed separately. If some
// declaration receives all instances, they are opened and closed together.
func TestByInstance(t *testing.T) {
	each := keys + "resource \"t_item\" \"x\" {\n count = 2\n a = ephemeral.t_key.k[count.index].token\n}\n"
	for more, want := range map[string]bool{
		"": true,
		"resource \"t_item\" \"y\" {\n a = ephemeral.t_key.k[0].token\n}\n":                 true,
		"resource \"t_item\" \"y\" {\n a = ephemeral.t_key.k[*].token\n}\n":                 false,
		"locals {\n y = ephemeral.t_key.k\n}\nprovider \"u\" {\n a = local.y[0].token\n}\n": false,
	} {
		p := enginetest.Program(t, map[string]string{"main.tf": each + more})
		if got := Analyse(p, nil).ByInstance(enginetest.Declaration(t, p, "ephemeral.t_key.k").ID); got != want {
			t.Errorf("with %q: %v", more, got)
		}
	}
}

// The opening of a lease (ephemeral resource) can be deferred to apply if only write-only arguments receive the lease,
// together with the leases in its own arguments. A lease in a provider's settings cannot be deferred.
func TestOnlyWritten(t *testing.T) {
	item := "resource \"t_item\" \"x\" {\n a_wo = ephemeral.t_key.derived.token\n}\n"
	for more, want := range map[string]string{
		"": "derived k single",
		"provider \"t\" {\n alias = \"x\"\n token = ephemeral.t_key.derived.token\n}\n":                              "k",
		"check \"c\" {\n assert {\n condition = ephemeral.t_key.k[0].token != null\n error_message = \"no\"\n}\n}\n": "derived single",
	} {
		p := enginetest.Program(t, map[string]string{"main.tf": keys + item + more})
		var got []string
		for e, only := range Analyse(p, nil).OnlyWritten() {
			if only {
				got = append(got, p.Decls()[e].Resource.Name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("with %q: %v, want %s", more, got, want)
		}
	}
}

// An ephemeral resource without a receiver is opened for its conditions, for a module output, or for the test of its
// provider.
func TestOpensItself(t *testing.T) {
	const loneText = "ephemeral \"t_key\" \"k\" {\n%s}\n"
	condition := "lifecycle {\n postcondition {\n condition = self.token != null\n error_message = \"no\"\n}\n}\n"
	output := "output \"o\" {\n ephemeral = true\n value = ephemeral.t_key.k.token\n}\n"
	for _, c := range []struct {
		what, module        string
		tested, whole, want bool
	}{
		{"nothing", fmt.Sprintf(loneText, ""), false, true, false},
		{"its conditions", fmt.Sprintf(loneText, condition), false, true, true},
		{"its conditions, in part of a walk", fmt.Sprintf(loneText, condition), false, false, true},
		{"an output", fmt.Sprintf(loneText, "") + output, false, true, true},
		{"an output, in part of a walk", fmt.Sprintf(loneText, "") + output, false, false, false},
		{"a test", fmt.Sprintf(loneText, ""), true, true, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			files, name := map[string]string{"main.tf": "module \"m\" {\n source = \"./m\"\n}\n", "m/main.tf": c.module}, "module.m.ephemeral.t_key.k"
			if c.tested { // no declaration refers to the ephemeral resource
				files, name = map[string]string{"main.tf": c.module}, "ephemeral.t_key.k"
			}
			p := enginetest.Program(t, files)
			a := Analyse(p, func(addr.Provider) bool { return c.tested })
			if got := a.OpensItself(enginetest.Declaration(t, p, name), c.whole); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// Managed resources and all values from them have two faces (prior and planned values). Ephemeral resources and
// constants have one.
func TestSteady(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": keys + `
resource "t_item" "a" {
}
locals {
  made  = t_item.a.id
  plain = "x"
}
data "t_thing" "d" {
  a = local.made
}
data "t_thing" "e" {
  a = data.t_thing.d.id
}
`})
	a := Analyse(p, nil)
	for name, want := range map[string]bool{"t_item.a": false, "data.t_thing.d": false, "local.made": false, "local.plain": true, "ephemeral.t_key.k": true} {
		if got := a.Steady(enginetest.Declaration(t, p, name).ID); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, c := range []struct {
		name, want string
		lacksData  bool
	}{
		{"data.t_thing.d", "[t_item.a]", false},
		{"data.t_thing.e", "[data.t_thing.d]", false},
		{"data.t_thing.e", "[data.t_thing.d t_item.a]", true},
	} {
		if got := fmt.Sprint(a.Recorded(enginetest.Declaration(t, p, c.name).ID, func(d *program.Declaration) bool { return c.lacksData && d.Resource.Mode == addr.Data })); got != c.want {
			t.Errorf("%s, lacks data %t: recorded %s", c.name, c.lacksData, got)
		}
	}
}

// TestReach checks which leases a declaration needs: for its arguments, its provisioners, its provider, and to obtain
// such leases.
func TestReach(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": keys + `
provider "t" {
  alias = "x"
  token = ephemeral.t_key.k[0].token
}
resource "t_item" "plain" {
}
resource "t_item" "argument" {
  a = ephemeral.t_key.derived.token
}
resource "t_item" "provider" {
  provider = t.x
}
resource "t_item" "provisioner" {
  provisioner "local-exec" {
    command = ephemeral.t_key.k[1].token
  }
}
`})
	for name, want := range map[string]string{
		"plain": "", "argument": "derived single", "provider": "k[0]", "provisioner": "k[1]",
	} {
		reach := Analyse(p, nil).Reach([]program.Decl{enginetest.Declaration(t, p, "t_item."+name).ID})
		var list []Received
		for _, w := range reach {
			list = append(list, w...)
		}
		if got := text(p, list); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	reach := Analyse(p, nil).Reach([]program.Decl{enginetest.Declaration(t, p, "t_item.provider").ID})
	k := enginetest.Declaration(t, p, "ephemeral.t_key.k").ID
	if !reach.Has(k, addr.IntKey(0)) || reach.Has(k, addr.IntKey(1)) {
		t.Error("the provider needs the first key only")
	}
}
