package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

const canary = "canary-77aa-password"

// schemas has the type test_db, with a sensitive attribute at each kind of place.
func schemas() *provider.Schemas {
	text := func(name string, sensitive, writeOnly bool) *schema.Attr {
		return &schema.Attr{Name: name, Type: cty.String, Optional: true, Sensitive: sensitive, WriteOnly: writeOnly}
	}
	login := &schema.Block{Attrs: []*schema.Attr{text("key", true, false), text("key_wo", false, true), text("user", false, false)}}
	ports := &schema.Block{Attrs: []*schema.Attr{text("code", true, false), text("name", false, false)}}
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	s.Add(addr.Managed, "test_db", func() (*schema.Schema, error) {
		return &schema.Schema{Block: &schema.Block{
			Attrs: []*schema.Attr{
				{Name: "locked_by_schema", Type: cty.Bool, Optional: true, Sensitive: true}, text("id", false, false), text("password", true, false), text("password_wo", false, true), text("pin", true, false), text("set_pin", false, true),
				{Name: "tags", Type: cty.Map(cty.String), Optional: true}, text("url", false, false),
			},
			Blocks: []*schema.Nested{{Name: "login", Block: login, Nesting: schema.List}, {Name: "port", Block: ports, Nesting: schema.Set}},
		}}, nil
	})
	s.Add(addr.Data, "test_db", func() (*schema.Schema, error) {
		return &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{text("password", true, false)}}}, nil
	})
	s.Add(addr.Ephemeral, "test_db", func() (*schema.Schema, error) { return &schema.Schema{Block: &schema.Block{}}, nil })
	return s
}

func inputs() Inputs {
	s := schemas()
	return Inputs{Schemas: func(p addr.Provider) (*provider.Schemas, error) {
		if p.Type != "test" {
			return nil, errors.New("not installed")
		}
		return s, nil
	}}
}

// snapshot returns a state with resources, each as its JSON text in a state.
func snapshot(t *testing.T, serial int, objects ...string) *state.Snapshot {
	t.Helper()
	var bag diag.Bag
	s, ok := state.Read([]byte(fmt.Sprintf(`{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{},"resources":[%s]}`, serial, strings.Join(objects, ","))), &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return s
}

func db(mode, name, attrs string, more ...string) string {
	return fmt.Sprintf(`{"mode":%q,"type":"test_db","name":%q,"provider":"provider[\"registry.opentofu.org/acme/test\"]","instances":[{"schema_version":0,"attributes":%s%s}]}`, mode, name, attrs, strings.Join(more, ""))
}

func report(t *testing.T, a *Auditor) *Report {
	t.Helper()
	r, err := a.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines returns the findings, one a line.
func lines(r *Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%v %s %s %s %s%s", f.Labels, f.Address, f.Path, f.Reason, f.Remedy.Kind, f.Remedy.Argument+f.Remedy.Type))
	}
	return out
}

func TestSecretsAreFoundAtEachPlace(t *testing.T) {
	a := New(inputs())
	a.State(a.Place(Place{Kind: State, Name: "s"}), snapshot(t, 1,
		db("managed", "a", `{"password":"`+canary+`","url":"db://u:`+canary+`@h","tags":{"k":"x","`+canary+`":"y"},"login":[{"key":"canary-77aa-key","user":"u"}],"port":[{"code":"canary-77aa-code","name":"n"}]}`),
		db("data", "d", `{"password":"`+canary+`"}`),
		db("managed", "b", `{"url":"canary-77aa-url"}`, `,"sensitive_attributes":[[{"type":"get_attr","value":"url"}]],"private":"eyJhIjoiY2FuYXJ5LTc3YWEta2V5In0="`),
	))
	want := []string{
		"[1] data.test_db.d password data source ephemeraltest_db",
		"[1] test_db.a  contained encryption", // the secret is in a key of a map
		"[2] test_db.a login[0].key schema write-onlylogin.key_wo",
		"[1] test_db.a password schema write-onlypassword_wo",
		"[3] test_db.a port[...].code schema encryption",
		"[1] test_db.a url contained encryption",
		"[2] test_db.b (private data) private data encryption",
		"[4] test_db.b url configuration encryption",
	}
	if got := lines(report(t, a)); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEqualObjectsAreExaminedOnce(t *testing.T) {
	a := New(inputs())
	for serial, kind := range []Kind{State, Backup, Version, Version} {
		a.State(a.Place(Place{Kind: kind, Name: fmt.Sprint(serial)}), snapshot(t, serial, db("managed", "a", `{"password":"`+canary+`"}`)))
	}
	a.State(a.Place(Place{Kind: Version, Name: "old"}), snapshot(t, 9, db("managed", "a", `{"password":"canary-77aa-old"}`)))
	r := report(t, a)
	if len(a.units) != 2 || len(r.Findings) != 1 {
		t.Fatalf("%d units, %q", len(a.units), lines(r))
	}
	if f := r.Findings[0]; len(f.Places) != 2 || len(f.Versions) != 3 || !slices.Equal(f.Labels, []int{1, 2}) || !f.Clear() {
		t.Errorf("%+v", f)
	}
}

func TestEncryptedPlacesAreNotInClear(t *testing.T) {
	a := New(inputs())
	a.State(a.Place(Place{Kind: State, Encrypted: true}), snapshot(t, 1, db("managed", "a", `{"password":"`+canary+`"}`)))
	if r := report(t, a); r.Clear() != 0 || len(r.Findings) != 1 || bytes.Contains(BaselineOf(r), []byte("test_db")) {
		t.Errorf("%q", lines(r))
	}
}

func TestProvidersRecommendArguments(t *testing.T) {
	in, asked := inputs(), 0
	in.Alternatives = func(_ addr.Provider, typ string, _ *schema.Schema, config cty.Value) ([]object.Alternative, error) {
		asked++
		if typ != "test_db" || config.GetAttr("pin").AsString() != canary {
			t.Errorf("asked about %s", typ)
		}
		return []object.Alternative{{Path: cty.GetAttrPath("pin"), Argument: "set_pin"}}, nil
	}
	a := New(in)
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, db("managed", "a", `{"pin":"`+canary+`"}`), db("managed", "b", `{"pin":"`+canary+`"}`)))
	want := []string{"[1] test_db.a pin schema write-onlyset_pin", "[1] test_db.b pin schema write-onlyset_pin"}
	if got := lines(report(t, a)); !slices.Equal(got, want) || asked != 1 {
		t.Errorf("%q, asked %d times", got, asked)
	}
	in.Alternatives = func(addr.Provider, string, *schema.Schema, cty.Value) ([]object.Alternative, error) {
		return nil, errors.New("gone")
	}
	a = New(in)
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, db("managed", "a", `{"pin":"`+canary+`"}`)))
	if r := report(t, a); len(r.Gaps) != 1 || r.Gaps[0].Kind != NoAdvice || r.Findings[0].Remedy.Kind != Encryption {
		t.Errorf("%+v", r)
	}
}

func TestMissingSchemasAreNamed(t *testing.T) {
	a := New(inputs())
	object := strings.ReplaceAll(db("managed", "a", `{"tags":{"k":"`+canary+`"},"list":[1,{"x":"`+canary+`"}]}`, `,"sensitive_attributes":[[{"type":"get_attr","value":"tags"},{"type":"index","value":{"value":"k","type":"string"}}]]`), "acme/test", "acme/other")
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, object))
	r := report(t, a)
	want := []string{`[1] test_db.a list[1].x contained encryption`, `[1] test_db.a tags["k"] recorded encryption`}
	if got := lines(r); !slices.Equal(got, want) || len(r.Gaps) != 1 || r.Gaps[0].Kind != NoSchema || r.Gaps[0].Problem != "not installed." || !slices.Equal(r.Gaps[0].Types, []string{"test_db"}) {
		t.Errorf("%q, %+v", got, r.Gaps)
	}
}

func TestObjectsOfOtherVersionsAreNamed(t *testing.T) {
	a := New(inputs())
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, db("managed", "a", `{"removed":"`+canary+`","password":["x"]}`, `,"sensitive_attributes":[[{"type":"get_attr","value":"removed"}]]`)))
	r := report(t, a)
	if got := lines(r); len(r.Gaps) != 1 || r.Gaps[0].Kind != OtherSchema || len(got) != 1 || !strings.Contains(got[0], "removed recorded") {
		t.Errorf("%q, %+v", got, r.Gaps)
	}
}

func TestVariablesOfPlansAreFound(t *testing.T) {
	s := snapshot(t, 1)
	p := &plan.Plan{Previous: s, Refreshed: s, Request: plan.Request{Variables: map[string]plan.Variable{
		"p": {Value: cty.StringVal(canary)}, "q": {Value: cty.StringVal("x" + canary)}, "r": {Value: cty.StringVal("plain")},
	}}}
	a := New(inputs())
	a.Plan(a.Place(Place{Kind: Plan}), p, map[string]bool{"p": true})
	want := []string{"[1] var.p  variable encryption", "[1] var.q  contained encryption"}
	if got := lines(report(t, a)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestActionsOfPlansAreFound(t *testing.T) {
	s := snapshot(t, 1)
	act := func(name string, config mark.Value) *plan.Invocation {
		return &plan.Invocation{Action: addr.Resource{Mode: addr.Action, Type: "test_act", Name: name}.In(addr.ModuleInstance{}).Instance(addr.NoKey), Config: config}
	}
	secret := cty.ObjectVal(map[string]cty.Value{"token": cty.StringVal(canary), "url": cty.StringVal("db://" + canary)})
	p := &plan.Plan{Previous: s, Refreshed: s, Evaluation: plan.Evaluation{
		Invocations:      []*plan.Invocation{act("a", mark.Value{Raw: secret, Marks: mark.SensitiveAt([]cty.Path{cty.GetAttrPath("token")})})},
		LaterInvocations: []*plan.Invocation{act("b", mark.Plain(secret)), act("c", mark.Value{})},
	}}
	a := New(inputs())
	a.Plan(a.Place(Place{Kind: Plan}), p, nil)
	want := []string{
		"[1] action.test_act.a token recorded encryption", "[1] action.test_act.a url contained encryption",
		"[1] action.test_act.b token contained encryption", "[1] action.test_act.b url contained encryption",
	}
	if got := lines(report(t, a)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCommonValuesAreNotSearchedFor(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres": true, "Password": true, "PRODUCTION": true, "true": true, "5432": true, "1234567": true, "12345678": false, "eu-central-1": true,
		"us-east1-b": true, "us-gov-west-1": true, "northamerica-northeast1": true, "correct-horse-42": false, "db-password1": false, "localhost:5432": true, "hunter2-hunter2": false, "correcthorse": false, "canary-77aa": false, "aB3dEf9h": false, "aB3dEf9": true,
	} {
		if common(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestKeysThatAreSecretsAreNotShown(t *testing.T) {
	a := New(inputs())
	one := db("managed", "a", `{"password":"`+canary+`","tags":{"`+canary+`":"x-`+canary+`"}}`, `,"index_key":"`+canary+`"`)
	a.State(a.Place(Place{Kind: State}), snapshot(t, 2))
	a.State(a.Place(Place{Kind: Backup}), snapshot(t, 1, one))
	r := report(t, a)
	want := []string{
		`[1] test_db.a["(sensitive value)"]  contained encryption`, // the secret is in a key of a map
		`[1] test_db.a["(sensitive value)"] password schema write-onlypassword_wo`,
		`[1] test_db.a["(sensitive value)"] tags["(sensitive value)"] contained encryption`,
	}
	if got := lines(r); !slices.Equal(got, want) || bytes.Contains(BaselineOf(r), []byte("canary")) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	m := r.Removal(r.Places[0], nil)
	if len(m.Secrets) != 1 || strings.Contains(strings.Join(m.Secrets[0].Stored, ""), "canary") {
		t.Errorf("%+v", m.Secrets)
	}
}

func TestBaselinesAcceptTheirFindings(t *testing.T) {
	a := New(inputs())
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, db("managed", "a", `{"password":"`+canary+`","url":"`+canary+`"}`)))
	r := report(t, a)
	text := BaselineOf(r)
	b, err := ReadBaseline(text)
	if err != nil || len(b) != len(r.Findings) || bytes.Contains(text, []byte("canary")) {
		t.Fatalf("%s: %v", text, err)
	}
	for _, f := range r.Findings {
		if !b.Has(f) {
			t.Errorf("%s %s is new", f.Address, f.Path)
		}
	}
	for _, text := range []string{"", "{", `{"format_version":"2.0","secrets":[]}`, `{"format_version":"1.0","secrets":[],"values":[]}`, `[]`} {
		if _, err := ReadBaseline([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestReportEndsWithItsContext(t *testing.T) {
	a := New(inputs())
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, db("managed", "a", `{"password":"`+canary+`"}`)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Report(ctx); err == nil {
		t.Error("no error")
	}
}

func TestNamesOnPaths(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "a": "a", "a.b": "a b", `a["x.y]\"[z"].b`: "a b", "a[0][1].b": "a b", "a[...].b": "a b",
	} {
		if got := strings.Join(NamesOf(path), " "); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestBooleansAreFoundWhereTheyAreSensitive(t *testing.T) {
	a := New(inputs())
	object := strings.ReplaceAll(db("managed", "a", `{"locked":true,"open":false,"plain":true}`, `,"sensitive_attributes":[[{"type":"get_attr","value":"locked"}],[{"type":"get_attr","value":"open"}]]`), "acme/test", "acme/other")
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, object, db("managed", "b", `{"locked_by_schema":false}`)))
	r := report(t, a)
	want := []string{"[1] test_db.a locked recorded encryption", "[2] test_db.a open recorded encryption", "[2] test_db.b locked_by_schema schema encryption"}
	if got := lines(r); !slices.Equal(got, want) || r.Short != 2 {
		t.Errorf("%q, %d are short", got, r.Short)
	}
}

// TestKeysWithDots checks that a sensitive element of a map does not hide a secret in an element whose key begins with
// the same text.
func TestKeysWithDots(t *testing.T) {
	const attrs, sensitive = `{"tags":{"k":"` + canary + `","k.txt":"x-` + canary + `"}}`, `,"sensitive_attributes":[[{"type":"get_attr","value":"tags"},{"type":"index","value":{"value":"k","type":"string"}}]]`
	typed := db("managed", "a", attrs, sensitive)
	for _, object := range []string{typed, strings.ReplaceAll(typed, "acme/test", "acme/other")} {
		a := New(inputs())
		a.State(a.Place(Place{Kind: State}), snapshot(t, 1, object))
		if got := lines(report(t, a)); len(got) != 2 || !strings.Contains(got[1], `tags["k.txt"] contained`) {
			t.Errorf("%q", got)
		}
	}
}

// TestKeysOfOutputsAndPlansAreFound checks that a secret in the key of a map is found in values without an entry in a
// state, too.
func TestKeysOfOutputsAndPlansAreFound(t *testing.T) {
	s := snapshot(t, 1, db("managed", "a", `{"password":"`+canary+`"}`))
	s.Outputs = map[string]state.Output{
		"o": {Value: mark.Plain(cty.ObjectVal(map[string]cty.Value{"x-" + canary: cty.True}))},
		"s": {Value: mark.Plain(cty.MapVal(map[string]cty.Value{canary: cty.StringVal(canary)})), Sensitive: true},
	}
	p := &plan.Plan{Previous: s, Refreshed: s, Request: plan.Request{Variables: map[string]plan.Variable{"m": {Value: cty.MapVal(map[string]cty.Value{canary: cty.True})}}}}
	a := New(inputs())
	a.Plan(a.Place(Place{Kind: Plan}), p, nil)
	want := []string{
		"[1] test_db.a password schema write-onlypassword_wo", "[1] output.o  contained encryption", "[1] output.s  output encryption", "[1] var.m  contained encryption",
	}
	if got := lines(report(t, a)); !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}

// TestFlatAttributesAreFound checks the attributes of very old states: those of nested blocks and of sets, and no
// lengths.
func TestFlatAttributesAreFound(t *testing.T) {
	object := strings.ReplaceAll(db("managed", "a", `{"password":"`+canary+`","login.#":"1","login.0.key":"canary-77aa-key","login.0.user":"u","port.#":"1","port.1234.code":"canary-77aa-code","port.1234.name":"n","url":"x-canary-77aa-key"}`), `"attributes"`, `"attributes_flat"`)
	a := New(inputs())
	a.State(a.Place(Place{Kind: State}), snapshot(t, 1, object))
	want := []string{
		"[1] test_db.a login.0.key schema encryption", "[2] test_db.a password schema write-onlypassword_wo",
		"[3] test_db.a port.1234.code schema encryption", "[1] test_db.a url contained encryption",
	}
	if got := lines(report(t, a)); !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}
