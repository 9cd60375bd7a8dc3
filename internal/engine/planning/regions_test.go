package planning_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// regions is the provider of a cloud (a fake service with objects). The setting region of a provider block selects the
// objects that it reads and changes. The action fake_act has the argument text.
type regions struct {
	*providertest.Fake
	cloud *cloud
}

var (
	regionSettings = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "region", Type: cty.String, Optional: true}}}}
	actSettings    = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "text", Type: cty.String, Optional: true}}}}
)

// divide adds the setting region and the action fake_act to the schemas of the fake provider, and makes regions the
// provider of the engine.
func (c *cloud) divide() {
	things := c.Describe
	c.Describe = func() (*provider.Schemas, provider.Diags) {
		s, ds := things()
		out := provider.NewSchemas(regionSettings)
		for _, of := range []struct {
			mode addr.Mode
			name string
		}{{addr.Managed, "fake_thing"}, {addr.Data, "fake_data"}} {
			out.Add(of.mode, of.name, func() (*schema.Schema, error) { return s.Type(of.mode, of.name) })
		}
		out.AddIdentity("fake_thing", func() (*provider.Identity, error) {
			return &provider.Identity{Attrs: []provider.IdentityAttr{{Name: "name", Type: cty.String, Required: true}}}, nil
		})
		out.Add(addr.Action, "fake_act", func() (*schema.Schema, error) { return actSettings, nil })
		return out, ds
	}
	c.Settings.Pool = provider.NewPool(nil)
	c.Settings.Pool.Builtin(c.Address, &regions{c.Fake, c})
}

// objectIdentity encodes the identity of an object, which is its name.
var objectIdentity = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "name", Type: cty.String, Required: true}}}}

// identity returns the identity of an object with a name.
func identity(name string) provider.Dynamic {
	b, err := objectIdentity.Encode(cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)}))
	if err != nil {
		panic(err)
	}
	return provider.Dynamic{Msgpack: b}
}

// Session returns a provider with its own region, for one provider block. It implements provider.Divisible.
func (p *regions) Session() provider.Provider {
	c, region := p.cloud, ""
	f := &providertest.Fake{Address: p.Address, Describe: p.Describe, OnPlan: p.OnPlan, OnReadData: p.OnReadData}
	f.OnConfigure = func(_ context.Context, config provider.Dynamic, _ provider.Allow) provider.Diags {
		v, err := regionSettings.Decode(config.Msgpack)
		if err != nil {
			panic(err)
		}
		region = world.Text(v, "region")
		return nil
	}
	f.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return c.read(region, r)
	}
	f.OnImport = func(_ context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		return c.find(region, r), nil
	}
	f.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return c.change(region, r)
	}
	f.OnInvoke = func(_ context.Context, r provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
		return func(yield func(provider.Invoked, provider.Diags) bool) {
			v, err := actSettings.Decode(r.Config.Msgpack)
			if err != nil {
				panic(err)
			}
			yield(provider.Invoked{Ended: true}, c.invoke(world.Text(v, "text")))
		}
	}
	return f
}

// invoke records the invocation of an action, or fails if this is the call with the number failAt.
func (c *cloud) invoke(text string) provider.Diags {
	c.calls++
	if c.history = append(c.history, text); c.calls == c.failAt {
		c.history = append(c.history, "failed action")
		return provider.Diags{diag.Errorf("failed", "")}
	}
	return nil
}

// untold checks the history of a successful run. It returns the name of an object whose changes have not invoked its
// actions, or whose actions were invoked without a change. acts reports whether the object with a name invokes actions.
// If there is no such object, untold returns "". An update that has no changes left during apply still invokes the
// actions.
func untold(history []string, acts func(name string) bool) string {
	counts := map[string]map[string]int{}
	for _, h := range history {
		for _, word := range []string{"before ", "after ", "+", "-", "~"} {
			if name, ok := strings.CutPrefix(h, word); ok && strings.HasPrefix(name, "o") {
				if counts[name] == nil {
					counts[name] = map[string]int{}
				}
				counts[name][word]++
			}
		}
	}
	for name, n := range counts {
		before, after := n["before "], n["after "]
		if !acts(name) && before+after > 0 || acts(name) && (before < n["-"]+n["~"] || after != before+n["+"]) {
			return fmt.Sprint(name, n)
		}
	}
	return ""
}

// regionOf returns the region of a provider instance.
func regionOf(p addr.ProviderInstance) string {
	if p.Alias == "other" {
		return "r4"
	}
	if k, _ := p.Key.Str(); k != "r3" { // r1 has two names
		return k
	}
	return "r1"
}
