package validating

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// world is a provider that records the values that it validates.
type world struct {
	mu    sync.Mutex
	asked []string
}

var item = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String, Optional: true}, {Name: "id", Type: cty.String, Computed: true}}}}

// Of returns schemas with the type t_item for every provider. It implements provider.Lookup.
func (w *world) Of(addr.Provider) *provider.Schemas {
	s := provider.NewSchemas(item)
	for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		s.Add(m, "t_item", func() (*schema.Schema, error) { return item, nil })
	}
	return s
}

// heard records a call with the value of the attribute a, and refuses the value "bad".
func (w *world) heard(what string, wire provider.Dynamic) provider.Diags {
	v, err := item.Decode(wire.Msgpack)
	if err != nil {
		panic(err)
	}
	a, text := v.GetAttr("a"), "unknown"
	switch {
	case a.IsKnown() && a.IsNull():
		text = "null"
	case a.IsKnown():
		text = a.AsString()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, what+" "+text)
	if text == "bad" {
		return provider.Diags{diag.Errorf("Refused", "not %s", text).In(cty.GetAttrPath("a"))}
	}
	return nil
}

// validate compiles a configuration and validates it with the provider w. It returns the diagnostics and the result of
// Program.
func (w *world) validate(t *testing.T, files map[string]string) (*diag.Bag, bool) {
	t.Helper()
	bag := &diag.Bag{}
	p := enginetest.Program(t, files)
	vet.Check(p, w.Of, vet.CheckOptions{BodiesOnly: true}, bag)
	pool := provider.NewPool(nil)
	t.Cleanup(func() { pool.Close() })
	pool.Builtin(addr.Default("t"), &providertest.Fake{
		Address:  addr.Default("t"),
		Describe: func() (*provider.Schemas, provider.Diags) { return w.Of(addr.Provider{}), nil },
		OnValidateConfig: func(_ context.Context, d provider.Dynamic) (provider.Dynamic, provider.Diags) {
			return d, w.heard("provider", d)
		},
		OnValidate: func(_ context.Context, m addr.Mode, _ string, d provider.Dynamic) provider.Diags {
			return w.heard(m.String(), d)
		},
		OnConfigure: func(context.Context, provider.Dynamic, provider.Allow) provider.Diags {
			t.Error("the provider was configured")
			return nil
		},
	})
	env := run.Env{Settings: &run.Settings{Pool: pool, Now: time.Now}, Handover: &run.Handover{}}
	ok := Program(t.Context(), env, p, frame.Options{}, bag)
	slices.Sort(w.asked)
	return bag, ok
}

// Every declaration is validated once for all equal instances, with unknown values for everything that the
// configuration does not contain. Declarations with errors are skipped, and no provider is configured.
func TestWhatIsAsked(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"written out":      {"resource \"t_item\" \"x\" {\n a = \"x\"\n}\n", "managed x"},
		"not known":        {"variable \"v\" {}\nresource \"t_item\" \"x\" {\n a = var.v\n}\n", "managed unknown"},
		"of another":       {"resource \"t_item\" \"x\" {}\ndata \"t_item\" \"y\" {\n a = t_item.x.id\n}\n", "data unknown, managed null"},
		"settings":         {"provider \"t\" {\n a = \"s\"\n}\nephemeral \"t_item\" \"x\" {}\n", "ephemeral null, provider s"},
		"many instances":   {"resource \"t_item\" \"x\" {\n count = 1000\n a = \"i\"\n}\n", "managed i"},
		"no instance":      {"resource \"t_item\" \"x\" {\n count = 0\n a = \"i\"\n}\n", "managed i"},
		"an unknown block": {"resource \"t_item\" \"x\" {\n nothing {}\n}\nresource \"t_item\" \"y\" {}\n", "managed null"},
	} {
		w := &world{}
		w.validate(t, map[string]string{"main.tf": c.config})
		if got := strings.Join(w.asked, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A value that a provider refuses is an error at the line of the argument, with the address of its declaration.
func TestRefused(t *testing.T) {
	for address, config := range map[string]string{
		"t_item.x": "resource \"t_item\" \"x\" {\n a = \"bad\"\n}\n",
		"provider[\"registry.opentofu.org/hashicorp/t\"]": "provider \"t\" {\n a = \"bad\"\n}\nresource \"t_item\" \"x\" {}\n",
	} {
		bag, ok := (&world{}).validate(t, map[string]string{"main.tf": config})
		list := bag.List()
		if ok || len(list) != 1 || list[0].Summary != "Refused" || list[0].Address != address || list[0].Subject == nil || list[0].Subject.Start.Line != 2 {
			t.Errorf("%s: %v %+v", address, ok, list)
		}
	}
}

// Provisioner and connection blocks are checked against their schemas, without a provider. A provisioner that runs on
// another machine needs a connection block.
func TestProvisioners(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"right":          {"provisioner \"local-exec\" {\n command = \"true\"\n}", ""},
		"an empty one":   {"provisioner \"local-exec\" {\n command = \"\"\n}", "Invalid local-exec provisioner command"},
		"no connection":  {"provisioner \"remote-exec\" {\n inline = [\"x\"]\n}", "Missing connection configuration"},
		"a connection":   {"connection {\n host = self.id\n}\nprovisioner \"remote-exec\" {\n inline = [\"x\"]\n}", ""},
		"one of no kind": {"connection {\n host = \"h\"\n type = \"x\"\n}\nprovisioner \"remote-exec\" {\n inline = [\"x\"]\n}", "Connection type not supported"},
	} {
		bag, ok := (&world{}).validate(t, map[string]string{"main.tf": "resource \"t_item\" \"x\" {\n" + c.body + "\n}\n"})
		got := ""
		for _, d := range bag.List() {
			got += d.Summary
		}
		if got != c.want || ok != (c.want == "") {
			t.Errorf("%s: %v %v, want %q", name, ok, bag.List(), c.want)
		}
	}
}
