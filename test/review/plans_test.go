// Package review tests the forms of a reviewed plan beside each other, and the page in a browser.
package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// canary is in every sensitive value.
const canary = "canary-of-the-review"

// hostile are texts that try to leave their place on a page, in a comment or on a screen.
var hostile = []string{
	"</script><script>document.title='live'</script>", "</details></pre></code>", "<img src=x onerror=document.title='live'>", "\u202egnp.exe", "a\x00\x1b[2Jb\u009b31m\r\nc",
	"@here", "#1", "````\n```\n@here\n", "`@here` ``#1``", "[link](https://example.com)", "https://example.com", "&lt;b&gt;", `"><b>`, "'", "a  b", "%41%zz", "|", "~~x~~", "<!--", "]]>",
	strings.Repeat("1 MB ", 200_000), strings.Repeat("line `of` text\n", 70_000), `{"Statement":[{"Effect":"Allow","Action":["s3:*","</script>"]}]}`,
}

var block = &schema.Block{
	Attrs: []*schema.Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "list", Type: cty.List(cty.String), Optional: true},
		{Name: "password", Type: cty.String, Optional: true, Sensitive: true},
		{Name: "size", Type: cty.Number, Optional: true},
		{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		{Name: "text", Type: cty.String, Optional: true},
	},
	Blocks: []*schema.Nested{{Name: "rule", Nesting: schema.Set, Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "key", Type: cty.String, Optional: true, Sensitive: true}, {Name: "port", Type: cty.Number, Optional: true},
	}}}},
}

var source = addr.Provider{Host: addr.DefaultHost, Namespace: "test", Type: "test"}

// schemas returns the schemas of the provider of all plans.
func schemas() provider.Lookup {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	for _, mode := range []addr.Mode{addr.Managed, addr.Data} {
		for _, name := range []string{"test_thing", "test_other"} {
			s.Add(mode, name, func() (*schema.Schema, error) { return &schema.Schema{Block: block}, nil })
		}
	}
	return func(addr.Provider) *provider.Schemas { return s }
}

// object returns an object with some attributes. The others are null, and sets of blocks are empty.
func object(attrs map[string]cty.Value) mark.Value {
	out := map[string]cty.Value{}
	for name, ty := range block.Type().AttributeTypes() {
		out[name] = cty.NullVal(ty)
		if ty.IsSetType() {
			out[name] = cty.SetValEmpty(ty.ElementType())
		}
		if v, ok := attrs[name]; ok {
			out[name] = v
		}
	}
	return mark.Plain(cty.ObjectVal(out))
}

// none returns the value of an object before its creation and after its removal.
func none() mark.Value { return mark.Plain(cty.NullVal(block.Type())) }

// change returns a change of the object at an address.
func change(t testing.TB, address string, a plan.Action, before, after mark.Value) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return changeOf(i, a, before, after)
}

func changeOf(i addr.Instance, a plan.Action, before, after mark.Value) *plan.Change {
	c := &plan.Change{Object: i.Current(), Was: i.Current(), Action: a, Before: before, After: after}
	c.Provider.Provider = source
	return c
}

// reviewed returns the review of changes.
func reviewed(changes ...*plan.Change) *review.Review {
	return review.New(&plan.Plan{Changes: changes}, nil, schemas())
}

// many returns the review of n changes: updates of a resource in 20 modules, with two of 500 objects destroyed or
// replaced.
func many(t testing.TB, n int) *review.Review {
	var list []*plan.Change
	for i := range n {
		before := object(map[string]cty.Value{"id": cty.StringVal(fmt.Sprintf("i-%d", i)), "size": cty.NumberIntVal(1), "text": cty.StringVal("a\nb\nc"), "tags": cty.MapVal(map[string]cty.Value{"name": cty.StringVal(fmt.Sprint("n", i))})})
		after := object(map[string]cty.Value{"id": cty.StringVal(fmt.Sprintf("i-%d", i)), "size": cty.NumberIntVal(2), "text": cty.StringVal("a\nx\nc"), "tags": cty.MapVal(map[string]cty.Value{"name": cty.StringVal(fmt.Sprint("m", i))})})
		address, action := fmt.Sprintf("module.m%d.test_thing.x[%d]", i%20, i), plan.Update
		switch i % 500 {
		case 7:
			after, action = none(), plan.Delete
		case 8:
			action = plan.DeleteCreate
		}
		c := change(t, address, action, before, after)
		if action == plan.DeleteCreate {
			c.Replace = []cty.Path{cty.GetAttrPath("size")}
		}
		list = append(list, c)
	}
	return reviewed(list...)
}

// randomText draws a text, often a hostile one.
func randomText(t *rapid.T) string {
	if rapid.IntRange(0, 2).Draw(t, "hostile") == 0 {
		text := rapid.SampledFrom(hostile).Draw(t, "text")
		return text[:min(len(text), 20_000)] // long texts are tested apart
	}
	return rapid.StringMatching(`[a-c"{}]{0,3}(\n[ab]{0,2}){0,3}`).Draw(t, "plain")
}

// randomObject draws an object. Each sensitive text begins with the canary.
func randomObject(t *rapid.T) mark.Value {
	attrs := map[string]cty.Value{}
	set := func(name string, v func() cty.Value) {
		if rapid.Bool().Draw(t, name) {
			attrs[name] = v()
		}
	}
	text := func() cty.Value { return cty.StringVal(randomText(t)) }
	secret := func() cty.Value {
		return cty.StringVal(canary + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "secret"))
	}
	set("id", func() cty.Value {
		if rapid.Bool().Draw(t, "unknown") {
			return cty.UnknownVal(cty.String)
		}
		return text()
	})
	set("text", text)
	set("password", secret)
	set("size", func() cty.Value { return cty.NumberIntVal(rapid.Int64Range(0, 2).Draw(t, "n")) })
	set("list", func() cty.Value { return cty.ListVal([]cty.Value{text(), text()}) })
	set("tags", func() cty.Value {
		return cty.MapVal(map[string]cty.Value{"k" + randomText(t): text(), "secret": secret()})
	})
	set("rule", func() cty.Value {
		rule := func() cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"key": secret(), "port": cty.NumberIntVal(rapid.Int64Range(0, 1).Draw(t, "port"))})
		}
		return cty.SetVal([]cty.Value{rule(), rule()})
	})
	v := object(attrs)
	if _, ok := attrs["tags"]; ok {
		v.Marks = append(v.Marks, mark.At{Path: cty.GetAttrPath("tags").IndexString("secret"), Tag: mark.Sensitive})
	}
	return v
}

// randomPlan draws a plan with at most 12 changes, and with outputs, leases and a failed check.
func randomPlan(t *rapid.T) *plan.Plan {
	p := &plan.Plan{Origin: plan.Origin{Workspace: randomText(t)}}
	seen := map[addr.Object]bool{}
	for range rapid.IntRange(0, 12).Draw(t, "changes") {
		key := addr.NoKey
		if rapid.Bool().Draw(t, "keyed") {
			key = addr.StringKey(rapid.SampledFrom(append([]string{"a", "b", "c", "d"}, hostile[:20]...)).Draw(t, "key"))
		}
		i := addr.Resource{Type: rapid.SampledFrom([]string{"test_thing", "test_other"}).Draw(t, "type"), Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")}
		i.Mode = addr.Managed
		inst := i.In(addr.ModuleInstance{}).Instance(key)
		if rapid.Bool().Draw(t, "module") {
			m, err := addr.ParseInstance(`module.m["` + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "m") + `"].test_thing.x`)
			if err != nil {
				t.Fatal(err)
			}
			inst.Module = m.Module
		}
		a := rapid.SampledFrom([]plan.Action{plan.Create, plan.Update, plan.Update, plan.Delete, plan.DeleteCreate, plan.CreateDelete, plan.Forget, plan.ForgetCreate, plan.NoOp}).Draw(t, "action")
		c := changeOf(inst, a, randomObject(t), randomObject(t))
		switch a {
		case plan.Create:
			c.Before = none()
		case plan.Delete:
			c.After = none()
			c.Why = rapid.SampledFrom([]plan.Reason{plan.DeleteNoResource, plan.DeleteEachKey, plan.NoReason}).Draw(t, "why")
		}
		if a.Replaces() {
			c.Why = rapid.SampledFrom([]plan.Reason{plan.ReplaceTainted, plan.ReplaceCannotUpdate, plan.ReplaceByRequest, plan.ReplaceByTriggers}).Draw(t, "why")
			c.Replace = []cty.Path{cty.GetAttrPath("size"), cty.GetAttrPath("tags").IndexString("secret")}[:rapid.IntRange(0, 2).Draw(t, "paths")]
		}
		if rapid.IntRange(0, 4).Draw(t, "import") == 0 {
			c.Importing = &plan.Importing{ID: randomText(t)}
		}
		if rapid.IntRange(0, 6).Draw(t, "deposed") == 0 && a == plan.Delete {
			c.Object.Deposed = "0a1b2c3d"
			c.Was = c.Object
		}
		if !seen[c.Object] {
			seen[c.Object] = true
			p.Changes = append(p.Changes, c)
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "outputs") {
		p.Outputs = append(p.Outputs, &plan.OutputChange{
			Name: fmt.Sprint("o", i), Action: plan.Update, Before: mark.Plain(cty.StringVal(canary + "1")), After: mark.Plain(cty.StringVal(canary + "2")), Sensitive: true,
		})
	}
	if rapid.Bool().Draw(t, "lease") {
		p.Leases = []plan.Lease{{Addr: "ephemeral.test.e", Receivers: []string{"test_thing.x[\"" + randomText(t) + "\"]"}}}
	}
	p.Checks = []state.Check{{Kind: "check", Addr: "check.c", Status: state.Fail, Objects: []state.CheckedObject{{Addr: "check.c", Status: state.Fail, Failures: []string{randomText(t)}}}}}
	return p
}
