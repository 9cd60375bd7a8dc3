package guard

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

const canary = "canary-5b1d-in-an-answer"

// gate is a Guard (the check of provider answers) with one secret, the canary, and the schema of an object.
type gate struct {
	*testing.T
	*Guard
	of  Subject
	bag diag.Bag
}

// Add collects a diagnostic of the guard in g.bag.
func (g *gate) Add(d diag.Diagnostic) { g.bag.Add(d) }

func newGate(t *testing.T) *gate {
	typ := &Type{
		Name: "t_thing", Mode: addr.Managed,
		Schema: &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
			{Name: "calc", Type: cty.String, Computed: true},
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "note", Type: cty.String, Optional: true},
			{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		}}},
		Identity: &provider.Identity{Version: 2, Attrs: []provider.IdentityAttr{{Name: "key", Type: cty.String}}},
	}
	g := &gate{T: t, Guard: &Guard{Secrets: &secret.Set{}}}
	g.of = Subject{
		Object:   addr.Resource{Type: "t_thing", Name: "a"}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(),
		Provider: Of(&providertest.Fake{Address: addr.Builtin("t")}), Type: typ, To: g,
	}
	g.Secrets.AddValue(cty.StringVal(canary), secret.Origin{Kind: secret.WriteOnly, Addr: "t_thing.a"})
	return g
}

// object returns an object of the gate's type with these attributes. The id is "1" unless attrs has another, and all
// other attributes are null.
func (g *gate) object(attrs map[string]string) cty.Value {
	all := g.of.Type.Empty().AsValueMap()
	all["id"] = cty.StringVal("1")
	for name, text := range attrs {
		all[name] = cty.StringVal(text)
	}
	return cty.ObjectVal(all)
}

func (g *gate) wire(v cty.Value) provider.Dynamic {
	b, err := g.of.Type.Encode(v)
	if err != nil {
		g.Fatal(err)
	}
	return Send(b)
}

// terms returns the Terms (the permissions for an answer) for an object that was stored without a secret.
func (g *gate) terms() Terms {
	was := &state.Entry{IdentitySchema: 1, Schema: g.of.Type.Version}
	if !g.of.Fill(was, g.object(nil), cty.NilVal) {
		g.Fatal(g.bag.List())
	}
	return Terms{Config: mark.Plain(g.of.Type.Empty()), Was: was, Prior: g.object(nil), Want: g.object(nil)}
}

// text returns the contents of an admitted answer, and all diagnostics.
func (g *gate) text(a *Admitted) string {
	var out strings.Builder
	out.Write(a.Wire)
	out.Write(a.Private)
	for _, v := range []cty.Value{a.Value, a.Identity} {
		if v != cty.NilVal {
			Texts(v, func(_ cty.Path, text string) { out.WriteString(text) })
		}
	}
	for _, d := range g.bag.List() {
		out.WriteString(d.Summary + d.Detail)
	}
	return out.String()
}

// stored has the provider calls whose answers are stored, and the names of the parts of these answers.
var stored = map[string]struct {
	of    *call
	parts string
}{
	"plan":             {planned, "object id private identity beginning"},
	"plan a destroy":   {plannedDestroy, "private"},
	"apply":            {applied, "object id private identity"},
	"destroy":          {destroyed, "object id private"},
	"read":             {read, "object id private identity"},
	"data":             {readData, "object id"},
	"import":           {imported, "object id private identity"},
	"list":             {listed, "object id identity"},
	"upgrade":          {upgraded, "object id"},
	"upgrade identity": {upgradedIdentity, "identity"},
	"move":             {moved, "object id private identity"},
}

// answer returns an answer to a call, with a text in the named part.
func (g *gate) answer(of *call, part, text string) *Answer {
	a := &Answer{of: of, private: []byte("private"), state: g.wire(g.object(nil))}
	switch part {
	case "object":
		a.state = g.wire(g.object(map[string]string{"calc": text}))
	case "beginning":
		attrs := g.object(nil).AsValueMap()
		attrs["calc"] = cty.UnknownVal(cty.String).Refine().StringPrefixFull(text).NewValue()
		a.state = g.wire(cty.ObjectVal(attrs))
	case "id":
		a.state = g.wire(g.object(map[string]string{"id": text}))
	case "private":
		a.private = []byte(text)
	}
	if of == upgradedIdentity || of == listed || part == "identity" {
		a.identity = g.of.Type.IdentityWire(cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("key")}))
	}
	if part == "identity" {
		a.identity = g.of.Type.IdentityWire(cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(text)}))
	}
	if of == plannedDestroy {
		a.state = Send(NullWire)
	}
	if of == imported {
		a.found = []provider.Imported{{Type: "t_thing", State: a.state, Private: a.private, Identity: a.identity}}
	}
	return a
}

// A secret in any part of any answer that is stored is reported and removed; without it, the answer is admitted.
func TestSecretsAreRemovedFromAnswers(t *testing.T) {
	for name, c := range stored {
		for part := range strings.FieldsSeq(c.parts) {
			t.Run(name+"/"+part, func(t *testing.T) {
				g := newGate(t)
				a, ok := g.Admit(g.of, g.answer(c.of, part, "x-"+canary), g.terms())
				if ok || !g.Secrets.Found() || len(g.bag.List()) == 0 || len(a.Removed) != 1 {
					t.Errorf("admitted: %v, found: %v, removed: %v: %v", ok, g.Secrets.Found(), a.Removed, g.bag.List())
				}
				if a.Object == Present && strings.Contains(g.text(a), canary) {
					t.Errorf("the secret is in the admitted answer, or in %v", g.bag.List())
				}
				g = newGate(t)
				if a, _ := g.Admit(g.of, g.answer(c.of, part, "plain"), g.terms()); len(a.Removed) > 0 {
					t.Errorf("removed without a secret: %v", a.Removed)
				}
			})
		}
	}
}

// An object may contain another object's secret if its own configuration has the text outside of write-only arguments,
// or if it had the text at the same path before.
func TestOwnTextsAreAdmitted(t *testing.T) {
	for name, c := range map[string]struct {
		config, was, calc, note string
		ok                      bool
	}{
		"configured":                     {config: "note", note: canary, ok: true},
		"configured, and elsewhere too":  {config: "note", note: canary, calc: canary, ok: true},
		"a write-only argument":          {config: "secret", calc: canary, ok: false},
		"at the same place before":       {was: "calc", calc: canary, ok: true},
		"before, but at another place":   {was: "note", calc: canary, ok: false},
		"in a very old state":            {was: "flatmap", calc: canary, ok: true},
		"neither configured, nor before": {calc: canary, ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			terms := g.terms()
			if c.config != "" {
				config := g.of.Type.Empty().AsValueMap()
				config[c.config] = cty.StringVal(canary)
				terms.Config = mark.Plain(cty.ObjectVal(config))
			}
			if c.was == "flatmap" {
				terms.Was.Attrs, terms.Was.Flatmap = nil, map[string]string{"calc": canary}
			} else if c.was != "" {
				g.of.Fill(terms.Was, g.object(map[string]string{c.was: canary}), cty.NilVal)
			}
			got := map[string]string{}
			for name, text := range map[string]string{"calc": c.calc, "note": c.note} {
				if text != "" {
					got[name] = text
				}
			}
			a, ok := g.Admit(g.of, &Answer{of: readData, state: g.wire(g.object(got))}, terms)
			if ok != c.ok || (len(a.Removed) == 0) != c.ok {
				t.Errorf("admitted: %v, removed: %v: %v", ok, a.Removed, g.bag.List())
			}
		})
	}
}

// A value of a write-only attribute is reported in every answer that has an object, and removed.
func TestWriteOnlyValuesAreRemovedFromAnswers(t *testing.T) {
	for name, c := range stored {
		if !strings.Contains(c.parts, "object") || c.of == readData { // the answer has no object, or is a data source, which has no write-only attributes
			continue
		}
		g := newGate(t)
		a := g.answer(c.of, "", "")
		a.state = g.wire(g.object(map[string]string{"secret": "written"}))
		if c.of == imported {
			a.found[0].State = a.state
		}
		got, ok := g.Admit(g.of, a, g.terms())
		if ok || !strings.Contains(g.text(&Admitted{}), "write-only") {
			t.Errorf("%s: %v, %v", name, ok, g.bag.List())
		}
		if got.Object == Present && strings.Contains(g.text(got), "written") {
			t.Errorf("%s: the value is there", name)
		}
	}
}

// An answer that is deferred without permission is refused, and none of its parts can be used.
func TestDeferralsAreRefused(t *testing.T) {
	for name, of := range map[string]*call{"plan": planned, "read": read, "data": readData, "import": imported, "open": opened} {
		g := newGate(t)
		a := g.answer(of, "", "")
		a.deferred = "absent_prereq"
		got, ok := g.Admit(g.of, a, g.terms())
		if ok || got.Object != Missing || got.Value != cty.NilVal || len(g.bag.List()) != 1 || g.bag.List()[0].Summary != "Invalid Deferred Response" {
			t.Errorf("%s: %v, %+v, %v", name, ok, got, g.bag.List())
		}
	}
}

// An answer that is deferred with permission is not an error. Its outcome has the provider's reason, and none of its
// parts can be used.
func TestAllowedDeferralsAreOutcomes(t *testing.T) {
	for name, of := range map[string]*call{"plan": planned, "data": readData, "open": opened} {
		g := newGate(t)
		a := g.answer(of, "object", canary)
		a.deferred, a.mayDefer = "absent_prereq", true
		got, ok := g.Admit(g.of, a, g.terms())
		if ok || got.Outcome != plan.Defer("absent_prereq") || got.Object != Missing || got.Value != cty.NilVal || len(g.bag.List()) > 0 {
			t.Errorf("%s: %v, %v, %+v, %v", name, ok, got.Outcome, got, g.bag.List())
		}
	}
}

// The result of an ephemeral resource is a secret, even if the provider reports an error with the result.
func TestResultsOfOpeningsAreSecrets(t *testing.T) {
	for _, ds := range []provider.Diags{nil, {diag.Errorf("failed", "")}} {
		g := newGate(t)
		held := false
		a := &Answer{of: opened, diags: ds, private: []byte("lease"), state: g.wire(g.object(map[string]string{"calc": "computed-by-the-lease"}))}
		_, ok := g.Admit(g.of, a, Terms{Config: mark.Plain(g.of.Type.Empty()), Held: func(l Lease) { held = string(l.Private) == "lease" }})
		if ok != (ds == nil) || !held {
			t.Errorf("%v: admitted: %v, held: %v, %v", ds, ok, held, g.bag.List())
		}
		if _, hit := g.Secrets.Check("computed-by-the-lease", "t_thing.b", nil); !hit {
			t.Errorf("%v: the result is not known as a secret", ds)
		}
	}
}

// A result of an ephemeral resource that does not match the schema is secret, too: the provider's messages and logs may
// contain it.
func TestUnreadableResultsOfOpeningsAreSecrets(t *testing.T) {
	g := newGate(t)
	config := g.object(map[string]string{"note": "given-by-the-user"})
	v := cty.ObjectVal(map[string]cty.Value{
		"calc": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"name-of-an-attribute": cty.StringVal("computed-by-the-lease")})}),
		"note": cty.StringVal("given-by-the-user"),
	})
	wire, err := schema.Encode(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	_, ok := g.Admit(g.of, &Answer{of: opened, state: Send(wire)}, Terms{Config: mark.Plain(config), Held: func(Lease) {}})
	if ok || len(g.bag.List()) != 1 {
		t.Errorf("admitted: %v, %v", ok, g.bag.List())
	}
	for text, want := range map[string]bool{"computed-by-the-lease": true, "given-by-the-user": false, "name-of-an-attribute": false} {
		if g.Secrets.Has(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// A computed text of an ephemeral resource in the form of a constant (capitals and underscores) is a secret only if the
// schema marks it sensitive.
func TestConstantsInResultsAreNoSecrets(t *testing.T) {
	for text, want := range map[string]bool{"AWSCURRENT": false, "SYMMETRIC_DEFAULT": false, "AWSCURRENT1": true, "Awscurrent": true, "ABCDEFGHIJKLMNOPQRSTU": true} {
		g := newGate(t)
		a := &Answer{of: opened, state: g.wire(g.object(map[string]string{"calc": text}))}
		g.Admit(g.of, a, Terms{Config: mark.Plain(g.of.Type.Empty()), Held: func(Lease) {}})
		if _, hit := g.Secrets.Check(text, "t_thing.b", nil); hit != want {
			t.Errorf("%s is a secret: %v", text, hit)
		}
	}
}

// Review searches an admitted answer again, and finds secrets that the walk registered after the answer was admitted.
func TestReviewFindsLaterSecrets(t *testing.T) {
	for name, of := range map[string]*call{"read": read, "data": readData, "import": imported, "move": moved} {
		g := newGate(t)
		a, ok := g.Admit(g.of, g.answer(of, "object", "secret-of-a-later-lease"), g.terms())
		e := &state.Entry{}
		if !ok || !a.Record(e) {
			t.Fatalf("%s: %v", name, g.bag.List())
		}
		g.Review()
		if len(g.bag.List()) > 0 {
			t.Errorf("%s: %v", name, g.bag.List())
		}
		a, _ = g.Admit(g.of, g.answer(of, "object", "secret-of-a-later-lease"), g.terms())
		a.Record(e)
		g.Secrets.AddValue(cty.StringVal("secret-of-a-later-lease"), secret.Origin{Kind: secret.EphemeralResult})
		g.Review()
		if len(g.bag.List()) != 1 {
			t.Errorf("%s: %v", name, g.bag.List())
		}
	}
}

// Review searches admitted plans again, and finds secrets that the walk registered later. It reports no value that the
// object had before.
func TestReviewFindsSecretsInPlans(t *testing.T) {
	const text = "secret-of-a-later-lease"
	for of, parts := range map[*call]string{planned: "object id private identity beginning", plannedDestroy: "private"} {
		for part := range strings.FieldsSeq(parts) {
			for _, had := range []bool{false, true} {
				g := newGate(t)
				terms := g.terms()
				if had {
					g.of.Fill(terms.Was, g.object(map[string]string{"calc": text, "id": text}), cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(text)}))
					terms.Was.Private = []byte(text)
				}
				if _, ok := g.Admit(g.of, g.answer(of, part, text), terms); !ok {
					t.Fatalf("%s: %v", part, g.bag.List())
				}
				g.Secrets.Add(text, secret.Origin{Kind: secret.EphemeralResult})
				if g.Review(); len(g.bag.List()) > 0 == had {
					t.Errorf("%s, had: %v: %v", part, had, g.bag.List())
				}
			}
		}
	}
}

// The keys of maps in an identity are searched for secrets.
func TestSecretKeysInIdentitiesAreRemoved(t *testing.T) {
	g := newGate(t)
	g.of.Type.Identity.Attrs = []provider.IdentityAttr{{Name: "keys", Type: cty.Map(cty.String)}}
	a := g.answer(planned, "", "")
	a.identity = g.of.Type.IdentityWire(cty.ObjectVal(map[string]cty.Value{"keys": cty.MapVal(map[string]cty.Value{canary: cty.StringVal("a")})}))
	if _, ok := g.Admit(g.of, a, g.terms()); ok || len(g.bag.List()) != 1 {
		t.Errorf("admitted: %v, %v", ok, g.bag.List())
	}
}

// If an answer has a value of a dynamic type, and the name of an attribute in this type is a secret, the type is
// removed, also if the value is null.
func TestSecretNamesInOpenTypesAreRemoved(t *testing.T) {
	named := cty.Object(map[string]cty.Type{"a": cty.String, canary: cty.String})
	full := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("a"), canary: cty.StringVal("b")})
	for name, v := range map[string]cty.Value{
		"object":             full,
		"null":               cty.NullVal(named),
		"unknown":            cty.UnknownVal(named),
		"inside":             cty.ObjectVal(map[string]cty.Value{"b": cty.TupleVal([]cty.Value{full, cty.True})}),
		"list":               cty.ListVal([]cty.Value{full, full}),
		"empty list":         cty.ListValEmpty(named),
		"map":                cty.MapVal(map[string]cty.Value{"b": cty.NullVal(named), "c": full}),
		"set":                cty.SetVal([]cty.Value{full}),
		"null inside":        cty.ObjectVal(map[string]cty.Value{"b": cty.NullVal(cty.List(cty.Tuple([]cty.Type{named})))}),
		"key of a null":      cty.MapVal(map[string]cty.Value{canary: cty.NullVal(cty.String)}),
		"null in an element": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"b": cty.NullVal(named)})}),
	} {
		for _, attr := range []string{"any", "anys"} {
			t.Run(name+" in "+attr, func(t *testing.T) {
				g := newGate(t)
				g.of.Type.Attrs = []*schema.Attr{
					{Name: "id", Type: cty.String, Computed: true}, {Name: "any", Type: cty.DynamicPseudoType, Computed: true},
					{Name: "anys", Type: cty.Map(cty.DynamicPseudoType), Computed: true},
				}
				attrs := g.object(nil).AsValueMap()
				if attrs[attr] = v; attr == "anys" {
					attrs[attr] = cty.MapVal(map[string]cty.Value{"k": v, "l": v})
				}
				answered := cty.ObjectVal(attrs)
				of := applied
				if !answered.IsWhollyKnown() {
					of = planned
				}
				a, ok := g.Admit(g.of, &Answer{of: of, state: g.wire(answered)}, Terms{Config: mark.Plain(g.object(nil)), Prior: g.of.Type.Null(), Want: answered})
				if ok || len(a.Removed) == 0 {
					t.Fatalf("admitted: %v", g.bag.List())
				}
				if a.Object != Present {
					return
				}
				e := &state.Entry{}
				if !a.Record(e) || strings.Contains(string(e.Attrs), canary) || strings.Contains(g.text(a), canary) {
					t.Errorf("%s, %v", e.Attrs, g.bag.List())
				}
			})
		}
	}
}

// A path that requires replacement is stored in the plan. Its keys are searched for secrets, also if the object lacks
// them.
func TestSecretKeysInReplacePathsAreRefused(t *testing.T) {
	for key, want := range map[string]bool{canary: false, "other": true} {
		g := newGate(t)
		g.of.Type.Attrs = append(g.of.Type.Attrs, &schema.Attr{Name: "secrets", Type: cty.Map(cty.String), Optional: true, WriteOnly: true})
		a := g.answer(planned, "", "")
		a.replace = []cty.Path{cty.GetAttrPath("secrets").IndexString(key)}
		if _, ok := g.Admit(g.of, a, g.terms()); ok != want || len(g.bag.List()) > 0 == want {
			t.Errorf("%s: admitted: %v, %v", key, ok, g.bag.List())
		}
	}
}

// Review finds secrets that were registered between the check of an answer and its record in the state, and secrets
// whose permission to be stored ended in this time.
func TestReviewFindsSecretsOfTheMeantime(t *testing.T) {
	const text = "secret-of-a-lease-in-the-meantime"
	for name, first := range map[string]*secret.Origin{
		"new":                          nil,
		"other objects might store it": {Kind: secret.WriteOnly, Addr: "t_thing.b", Sensitive: true},
	} {
		g := newGate(t)
		if first != nil {
			g.Secrets.Add(text, *first)
		}
		a, ok := g.Admit(g.of, g.answer(read, "object", text), g.terms())
		g.Secrets.Add(text, secret.Origin{Kind: secret.EphemeralResult})
		if !ok || !a.Record(&state.Entry{}) {
			t.Fatalf("%s: %v", name, g.bag.List())
		}
		if g.Review(); len(g.bag.List()) != 1 {
			t.Errorf("%s: %v", name, g.bag.List())
		}
	}
}

// A message about an identity contains no text that is sensitive in the object, also not inside a longer text.
func TestIdentityMessagesHideSensitiveParts(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		g := newGate(t)
		g.Secrets = &secret.Set{}
		key := func(text string) cty.Value { return cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(text)}) }
		config := mark.Plain(g.object(map[string]string{"note": canary}))
		if sensitive {
			config.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("note")})
		}
		a := &Answer{of: applied, state: g.wire(config.Raw), identity: g.of.Type.IdentityWire(key("arn:x:" + canary))}
		_, ok := g.Admit(g.of, a, Terms{Config: config, Prior: g.of.Type.Null(), Want: config.Raw, Identity: key("arn:x:planned")})
		if text := g.text(&Admitted{}); ok || !strings.Contains(text, "changed the identity") || strings.Contains(text, canary) == sensitive {
			t.Errorf("sensitive: %v: %v, %s", sensitive, ok, text)
		}
	}
}

// A message about a breach (an answer that breaks the rules of the protocol) names the keys of a map, unless the map is
// sensitive.
func TestBreachesNameNoSensitiveKeys(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		label := &schema.Object{Nesting: schema.Map, Attrs: []*schema.Attr{{Name: "text", Type: cty.String, Optional: true}}}
		typ := &Type{Name: "t_thing", Mode: addr.Managed, Schema: &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
			{Name: "labels", Type: cty.Map(cty.Object(map[string]cty.Type{"text": cty.String})), Object: label, Optional: true, Sensitive: sensitive}, {Name: "map", Type: cty.Map(cty.String), Optional: true},
		}}}}
		object := func(key, text string) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{
				"labels": cty.MapVal(map[string]cty.Value{key: cty.ObjectVal(map[string]cty.Value{"text": cty.StringVal("a")})}),
				"map":    cty.MapVal(map[string]cty.Value{key: cty.StringVal(text)}),
			})
		}
		config := mark.Plain(object(canary, "a"))
		if sensitive {
			config.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("map")})
		}
		for of, answered := range map[*call]cty.Value{planned: object("other", "a"), applied: object(canary, "b")} {
			g := newGate(t)
			g.of.Type, g.Secrets = typ, &secret.Set{}
			_, ok := g.Admit(g.of, &Answer{of: of, state: g.wire(answered)}, Terms{Config: config, Prior: typ.Null(), Want: config.Raw})
			if text := g.text(&Admitted{}); ok || strings.Contains(text, canary) == sensitive {
				t.Errorf("sensitive: %v: %v, %s", sensitive, ok, text)
			}
		}
	}
}

// If a refresh changes the length of a list or the keys of a map, a stored sensitive path inside becomes the path of
// the whole list or map, because its value may be at another index now. Paths that the schema marks sensitive stay.
func TestSensitivePathsRiseInRefreshes(t *testing.T) {
	item := &schema.Block{Attrs: []*schema.Attr{{Name: "key", Type: cty.String, Optional: true, Sensitive: true}}}
	typ := &Type{Name: "t_thing", Mode: addr.Managed, Schema: &schema.Schema{Block: &schema.Block{
		Attrs:  []*schema.Attr{{Name: "list", Type: cty.List(cty.String), Optional: true}, {Name: "map", Type: cty.Map(cty.String), Optional: true}},
		Blocks: []*schema.Nested{{Name: "item", Nesting: schema.List, Block: item}},
	}}}
	object := func(items int, list ...string) cty.Value {
		var texts, blocks []cty.Value
		named := map[string]cty.Value{}
		for _, text := range list {
			texts, named["of-"+text] = append(texts, cty.StringVal(text)), cty.StringVal(text)
		}
		for range items {
			blocks = append(blocks, cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("a")}))
		}
		return cty.ObjectVal(map[string]cty.Value{"list": cty.ListVal(texts), "map": cty.MapVal(named), "item": cty.ListVal(blocks)})
	}
	item0, item1 := cty.GetAttrPath("item").IndexInt(0).GetAttr("key"), cty.GetAttrPath("item").IndexInt(1).GetAttr("key")
	inside := []cty.Path{cty.GetAttrPath("list").IndexInt(1), cty.GetAttrPath("map").IndexString("of-" + canary)}
	for _, c := range []struct {
		now  cty.Value
		want []cty.Path
	}{
		{object(1, "b", canary), append([]cty.Path{item0}, inside...)},
		{object(2, "new", "a", canary), []cty.Path{item0, item1, cty.GetAttrPath("list"), cty.GetAttrPath("map")}},
	} {
		g := newGate(t)
		g.of.Type, g.Secrets = typ, &secret.Set{}
		was := &state.Entry{Sensitive: inside}
		before := object(1, "b", canary)
		g.of.Fill(was, before, cty.NilVal)
		a, _ := g.Admit(g.of, &Answer{of: read, state: g.wire(c.now), private: []byte("new")}, Terms{Was: was, Sent: g.wire(before).Msgpack})
		next := *was
		a.Record(&next)
		if !mark.SamePaths(next.Sensitive, c.want) {
			t.Errorf("got %v, want %v", next.Sensitive, c.want)
		}
	}
}

// Undo asks the provider to destroy the object of an answer, including secrets, and succeeds only if no object remains.
func TestUndoSendsTheAnswerBack(t *testing.T) {
	g := newGate(t)
	far := &providertest.Fake{Address: addr.Builtin("t")}
	var sent provider.ApplyRequest
	left := provider.ApplyResponse{State: Send(NullWire)}
	far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		sent = r
		return left, nil
	}
	made := &Answer{wire: []byte("object"), private: []byte("p"), identity: Send([]byte("i"))}
	for _, want := range []bool{true, false} {
		answer := Of(far).Undo(context.Background(), g.of.Type, made)
		if _, ok := g.Admit(g.of, &answer, Terms{}); ok != want {
			t.Errorf("got %v, want %v", ok, want)
		}
		left.State = g.wire(g.object(nil))
	}
	if string(sent.Prior.Msgpack)+string(sent.Private)+string(sent.Identity.Msgpack) != "objectpi" || !isNull(sent.Planned.Msgpack) {
		t.Errorf("%+v", sent)
	}
}

// TestRightsOfAnOlderObject checks that a configured text is allowed although the stored object has an older schema, as
// after an upgrade of the provider with -refresh=false.
func TestRightsOfAnOlderObject(t *testing.T) {
	typ := &Type{Name: "t_thing", Mode: addr.Managed, Schema: &schema.Schema{Version: 1, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "note", Type: cty.String, Optional: true}}}}}
	note := cty.GetAttrPath("note")
	r := &rights{config: cty.ObjectVal(map[string]cty.Value{"note": cty.StringVal(canary)}), was: &state.Entry{Attrs: []byte(`{"former": "canary-old-1f60"}`)}}
	for text, want := range map[string]bool{canary: true, "canary-other-88aa": false} {
		if r.allows(typ, note, text, "") != want || r.allows(typ, note, "text with "+text, text) != want {
			t.Errorf("a configured text: %t", want)
		}
	}
	if !r.allows(typ, note, "text with canary-old-1f60", "canary-old-1f60") {
		t.Error("a stored text is not allowed")
	}
}

// TestMetadataOfLeases checks which results of an ephemeral resource other objects may have, such as a data source that
// reads the same secret from AWS Secrets Manager, or an object that was created in the same second.
func TestMetadataOfLeases(t *testing.T) {
	const (
		version = "canary-7d2e-version"
		arn     = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:db-1Ab2Cd"
	)
	for _, tt := range []struct {
		attribute, text string
		distinguishes   bool // the schema marks an attribute as sensitive
		secret          bool
	}{
		{"secret", version, true, true},
		{"secret", arn, true, true},
		{"plain", version, true, false},
		{"plain", version, false, true},
		{"plain", arn, false, false},
		{"plain", "projects/p-1/secrets/db/versions/3", false, false},
		{"plain", "/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/g", false, false},
		{"plain", "2026-11-30T18:39:57Z", false, false},
		{"plain", "2026-11-30T18:39:57.123456+01:00", false, false},
		{"plain", "2026-11-30 18:39:57 +0000 UTC", false, false},
		{"plain", "AWSCURRENT", false, false},
		{"plain", "projects of canary-7d2e", false, true},
		{"plain", "arn:canary-7d2e-version", false, true},
	} {
		g := &Guard{Secrets: &secret.Set{}}
		attrs := []*schema.Attr{{Name: "plain", Type: cty.String, Computed: true}}
		if tt.distinguishes {
			attrs = append(attrs, &schema.Attr{Name: "secret", Type: cty.String, Computed: true, Sensitive: true})
		}
		typ := &Type{Name: "t_lease", Mode: addr.Ephemeral, Schema: &schema.Schema{Block: &schema.Block{Attrs: attrs}}}
		values := map[string]cty.Value{}
		for _, a := range attrs {
			values[a.Name] = cty.NullVal(cty.String)
		}
		values[tt.attribute] = cty.StringVal(tt.text)
		g.addResult(Subject{Type: typ}, cty.ObjectVal(values), typ.Null())
		if _, hit := g.Secrets.Check(tt.text, "", nil); hit != tt.secret {
			t.Errorf("%s = %q, distinguished %t: secret %t", tt.attribute, tt.text, tt.distinguishes, hit)
		}
		if tt.text == version && strings.Contains(g.Secrets.ScrubMessage("in a message: "+version), version) {
			t.Errorf("%s = %q is not masked in messages", tt.attribute, tt.text)
		}
	}
}
