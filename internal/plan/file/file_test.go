package file

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

func instance(t testing.TB, s string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(s)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func target(t testing.TB, s string) addr.Target {
	t.Helper()
	x, err := addr.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// snapshot returns a state with two objects.
func snapshot(t testing.TB, serial uint64) *state.Snapshot {
	e := (*state.Snapshot)(nil).Edit()
	h := e.Head()
	h.Lineage, h.Serial, h.Version = "5f0d7d5c-3f1c-4b8a-b6d1-000000000001", serial, "1.12.0"
	p := addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("time"), Alias: "west"}}
	e.Put(instance(t, "time_static.a").Current(), &state.Entry{Attrs: []byte(`{"id":"a"}`), Provider: p, Private: []byte("x")})
	e.Put(addr.Object{Instance: instance(t, `module.m["k"].time_static.b[1]`), Deposed: "0a1b2c3d"},
		&state.Entry{Attrs: []byte(`{"id":"b"}`), Provider: p, CreateFirst: true, Recorded: []addr.Resource{instance(t, "time_static.a").Resource()}})
	return e.Done()
}

// full returns the contents of a plan file with all fields set.
func full(t testing.TB) *Contents {
	prev, now := snapshot(t, 4), snapshot(t, 5)
	a := instance(t, "time_static.a").Current()
	moved := instance(t, `module.m["k"].time_static.c`)
	west := now.Get(a).Provider
	obj := cty.ObjectVal(map[string]cty.Value{
		"id":   cty.UnknownVal(cty.String).Refine().NotNull().StringPrefixFull("a-").NewValue(),
		"tags": cty.MapVal(map[string]cty.Value{"k": cty.StringVal("secret"), "n": cty.NullVal(cty.String)}),
		"any":  cty.DynamicVal,
		"nums": cty.TupleVal([]cty.Value{cty.NumberIntVal(-3), cty.MustParseNumberVal("0.1"), cty.PositiveInfinity, cty.Zero}),
		"set":  cty.SetVal([]cty.Value{cty.True, cty.UnknownVal(cty.Bool)}),
		"none": cty.ListValEmpty(cty.EmptyObject),
	})
	marks := []mark.At{{Path: cty.GetAttrPath("tags").IndexString("k"), Tag: mark.Sensitive, Why: &mark.Origin{What: "var.s"}}}
	check := state.Check{Kind: "check", Addr: "check.c", Status: state.Fail, Objects: []state.CheckedObject{{Addr: "check.c", Status: state.Fail, Failures: []string{"no"}}}}
	return &Contents{
		Schemas: map[addr.Provider][]byte{addr.Default("time"): []byte("types"), {Host: "example.com", Namespace: "acme", Type: "kv"}: {}},
		Plan: &plan.Plan{
			Mode: plan.RefreshOnly,
			Changes: []*plan.Change{
				{Object: a, Was: a, Action: plan.NoOp, Unchanged: true, Entry: now.Get(a), Provider: west},
				{
					Object: moved.Current(), Was: instance(t, "time_static.old").Current(), Action: plan.CreateDelete, Why: plan.ReplaceTainted,
					Before: mark.Plain(cty.NullVal(obj.Type())), After: mark.Value{Raw: obj, Marks: marks},
					Settled: true, Asked: []byte("asked"), Lifecycle: plan.Lifecycle{SkipDestroy: true, Protected: true, CreateFirst: true, FirstFor: "time_static.z"},
					Entry: &state.Entry{
						Flatmap: map[string]string{"a": "b"}, Schema: 3, Provider: west, Private: []byte("p"),
						Identity: []byte(`{"n":1}`), IdentitySchema: 1, Sensitive: []cty.Path{cty.GetAttrPath("x")}, Recorded: []addr.Resource{a.Resource()},
						CreateFirst: true, SkipDestroy: true, Protected: true, Tainted: true, Complete: true, Extra: []byte(`{"y":1}`),
					},
					Replace: []cty.Path{cty.GetAttrPath("nums").IndexInt(2), cty.GetAttrPath("id")}, Sent: []cty.Path{cty.GetAttrPath("w")},
					Provider: west, ProviderData: plan.ProviderData{Private: []byte{}, Identity: cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(1)}), BeforeIdentity: cty.EmptyObjectVal, Legacy: true},
					Importing: &plan.Importing{ID: "i", Identity: cty.StringVal("x"), Unknown: true}, Generated: "resource {}",
					Recorded: []addr.Resource{moved.Resource()}, Conditions: true,
				},
			},
			Drift:    []*plan.Change{{Object: a, Was: a, Action: plan.Update, Entry: prev.Get(a), Before: mark.Plain(cty.StringVal("x")), After: mark.Plain(cty.StringVal("y"))}},
			Outputs:  []*plan.OutputChange{{Name: "o", Action: plan.Update, Before: mark.Plain(cty.True), After: mark.Plain(cty.False), Sensitive: true, Deprecated: "old"}},
			Deferred: []*plan.Change{{Object: moved.Current(), Was: moved.Current(), Action: plan.Read, Deferral: &plan.Deferral{Reason: plan.DeferredPrereq, Pattern: "time_static.c[*]", After: []string{"time_static.a"}}}},
			Previous: prev, Refreshed: now, Checks: []state.Check{check},
			Request: plan.Request{
				Variables: map[string]plan.Variable{"v": {Value: cty.StringVal("plain")}, "n": {Value: cty.NullVal(cty.DynamicPseudoType)}},
				Ephemeral: []string{"password"},
				Targets:   []addr.Target{target(t, "module.m"), target(t, "time_static.a[0]")}, Excludes: []addr.Target{target(t, `module.m["k"].data.x.y`)},
			},
			Relevant: []plan.Relevant{{Resource: moved.Abs(), Key: addr.IntKey(3), Path: cty.GetAttrPath("id")}},
			Evaluation: plan.Evaluation{
				Functions: map[string]string{"f": "digest"}, Keys: map[string][]addr.Key{"x": {addr.NoKey, addr.IntKey(1), addr.StringKey("é")}, "y": nil},
				KeysBefore: map[string][]addr.Key{"x": {addr.IntKey(2)}},
				Readings:   []plan.Reading{{Object: a, Entry: &state.Entry{Attrs: []byte(`{"a":1}`), Provider: west}}},
				NoBefore:   []addr.ProviderInstance{west},
				Invocations: []*plan.Invocation{{
					Action: instance(t, `module.m["k"].action.time_sleep.s[1]`), Provider: west, Config: mark.Value{Raw: obj, Marks: marks},
					Trigger: plan.Trigger{Object: moved.Current(), Event: config.AfterCreate, Block: 1, Index: 2, OnFailure: config.Taint},
				}},
				LaterInvocations: []*plan.Invocation{{
					Action: instance(t, "action.time_sleep.s"), Provider: west, Config: mark.Plain(cty.UnknownVal(obj.Type())),
					Trigger: plan.Trigger{Object: moved.Current(), Event: config.BeforeCreate, OnFailure: config.Halt}, Deferral: &plan.Deferral{Reason: plan.DeferredPrereq, Pattern: "time_static.c[*]"},
				}},
			},
			Unstored: plan.Unstored{Results: []plan.Result{{Object: a, Before: true, Provider: west}}, Lacking: []addr.Object{a}},
			Part:     []string{"data.x.y", "time_static.a"}, Changed: true,
			Origin:    plan.Origin{Workspace: "default", Backend: "local", Settings: []byte(`{"type":"local","config":{}}`), Place: "p"},
			Timestamp: time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC), Errored: true, Complete: true, ProvisionerSettings: plan.ProvisionerSettings{SkipDeposed: true},
		},
		Config: []ConfigModule{
			{Key: "", Dir: ".", Files: map[string][]byte{"main.tf": []byte("# root\n"), "x.tf": nil}},
			{Key: "m", Source: "./m", Version: "1.0.0", Dir: "m", Files: map[string][]byte{"main.tf": []byte("# child\n")}},
		},
		Lock:    []byte("# lock\n"),
		Version: "1.12.0",
	}
}

func write(t testing.TB, c *Contents) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readBack(data []byte) (*Contents, string) {
	var bag diag.Bag
	c, ok := Read("a.plan", data, nil, &bag)
	var all []string
	for _, d := range bag.List() {
		all = append(all, d.Error())
	}
	if ok != !bag.HasErrors() {
		all = append(all, "errors and result do not agree")
	}
	return c, strings.Join(all, "\n")
}

// same compares plans. It ignores the origins of marks, and treats nil and empty files as equal.
var same = cmp.Options{
	cmp.Comparer(func(a, b cty.Value) bool {
		return a == cty.NilVal && b == cty.NilVal || a != cty.NilVal && b != cty.NilVal && a.RawEquals(b)
	}),
	cmp.Comparer(func(a, b cty.Path) bool { return mark.PathString(a) == mark.PathString(b) && len(a) == len(b) }),
	cmp.Comparer(func(a, b addr.Object) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Instance) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Key) bool { return a == b }),
	cmp.Comparer(func(a, b addr.AbsResource) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Resource) bool { return a == b }),
	cmp.Comparer(func(a, b addr.ProviderInstance) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Target) bool { return a.String() == b.String() }),
	cmp.Comparer(func(a, b *mark.Origin) bool { return true }),
	cmp.Comparer(func(a, b *state.Snapshot) bool {
		x, _ := a.Bytes()
		y, _ := b.Bytes()
		return bytes.Equal(x, y)
	}),
	cmp.Comparer(func(a, b []byte) bool {
		var x, y bytes.Buffer // a state file has white space
		if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
			return bytes.Equal(a, b)
		}
		return bytes.Equal(x.Bytes(), y.Bytes())
	}),
}

func TestRoundTrip(t *testing.T) {
	in := full(t)
	data := write(t, in)
	out, msg := readBack(data)
	if msg != "" {
		t.Fatal(msg)
	}
	if diff := cmp.Diff(in, out, same); diff != "" {
		t.Error(diff)
	}
	a := instance(t, "time_static.a").Current()
	if out.Plan.Changes[0].Entry != out.Plan.Refreshed.Get(a) || out.Plan.Drift[0].Entry != out.Plan.Previous.Get(a) {
		t.Error("the entries of changes are those of the states again")
	}
	if out.Plan.Changes[1].Private == nil || out.Plan.Changes[0].Private != nil || out.Plan.Keys["y"] != nil {
		t.Error("none and empty are not the same")
	}
	if again := write(t, out); !bytes.Equal(data, again) {
		t.Error("equal contents give equal bytes")
	}
}

// The plan of full has a value in every field, so that the tests notice a field that is missing in the file format.
func TestFull(t *testing.T) {
	set := map[string]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() && v.Type() != reflect.TypeFor[*state.Snapshot]() {
				visit(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().String() + "." + v.Type().Field(i).Name
				if set[name] = set[name] || !v.Field(i).IsZero(); strings.HasPrefix(name, "plan.") || strings.HasPrefix(name, "state.") {
					visit(v.Field(i))
				}
			}
		}
	}
	visit(reflect.ValueOf(full(t).Plan))
	set["plan.Plan.Leases"], set["plan.Result.Entry"] = true, true // not part of a saved plan
	for name, ok := range set {
		if !ok && (strings.HasPrefix(name, "plan.") || strings.HasPrefix(name, "state.")) {
			t.Errorf("no %s in the plan that the tests use; add it there, and to body.go with a new version of the format", name)
		}
	}
}

// TestEmpty reads a plan without a state and without changes.
func TestEmpty(t *testing.T) {
	in := &Contents{Plan: &plan.Plan{}, Version: "1.12.0", Config: []ConfigModule{{Dir: "."}}}
	out, msg := readBack(write(t, in))
	if msg != "" {
		t.Fatal(msg)
	}
	if out.Plan.Refreshed != out.Plan.Previous || out.Plan.Refreshed.Len() != 0 || !out.Plan.Timestamp.IsZero() || out.Plan.Applyable() {
		t.Errorf("got %+v", out.Plan)
	}
}

// If the previous and the refreshed state in a plan file have the same text, the text is decoded once. Otherwise each
// state is decoded, even if both have the same size.
func TestSameStates(t *testing.T) {
	for _, c := range []struct {
		what      string
		prev, now *state.Snapshot
		once      bool
	}{
		{"one", snapshot(t, 5), nil, true},
		{"two with the same text", snapshot(t, 5), snapshot(t, 5), true},
		{"another serial", snapshot(t, 4), snapshot(t, 5), false},
	} {
		if c.now == nil {
			c.now = c.prev
		}
		out, msg := readBack(write(t, &Contents{Plan: &plan.Plan{Previous: c.prev, Refreshed: c.now}, Version: "1.12.0", Config: []ConfigModule{{Dir: "."}}}))
		if msg != "" {
			t.Fatal(c.what, msg)
		}
		if p := out.Plan; (p.Previous == p.Refreshed) != c.once || p.Previous.Serial != c.prev.Serial || p.Refreshed.Serial != c.now.Serial || p.Previous.Len() != c.prev.Len() {
			t.Errorf("%s: serials %d and %d, one snapshot: %v", c.what, p.Previous.Serial, p.Refreshed.Serial, p.Previous == p.Refreshed)
		}
	}
}

// TestMembers checks the members of the archive that other tools look for in a plan file.
func TestMembers(t *testing.T) {
	data := write(t, full(t))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	want := []string{"tfplan", "values", "tfstate", "tfstate-prev", "tfconfig/modules.json", "tfconfig/m-/main.tf", "tfconfig/m-/x.tf", "tfconfig/m-m/main.tf", ".terraform.lock.hcl",
		"schemas/example.com/acme/kv", "schemas/registry.opentofu.org/hashicorp/time"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	f, err := z.Open("tfconfig/modules.json")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(f)
	if want := `[
  {
    "Key": "",
    "Dir": "."
  },
  {
    "Key": "m",
    "Source": "./m",
    "Version": "1.0.0",
    "Dir": "m"
  }
]`; string(text) != want || !json.Valid(text) {
		t.Errorf("modules.json is %s", text)
	}
}

// Every change of the bytes of a saved plan is detected, at any position, and causes a single diagnostic.
func TestDamage(t *testing.T) {
	data := write(t, full(t))
	check := func(what string, damaged []byte) {
		if c, msg := readBack(damaged); c != nil || msg == "" || strings.Contains(msg, "\n") {
			t.Fatalf("%s: accepted, or not one message: %q", what, msg)
		}
	}
	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			damaged := bytes.Clone(data)
			damaged[i] ^= bit
			check(fmt.Sprintf("byte %d of %d, bit %d", i, len(data), bit), damaged)
		}
	}
	for n := range data {
		check(fmt.Sprintf("cut off after %d bytes", n), data[:n])
	}
	check("a byte more", append(bytes.Clone(data), '\n'))
	check("a byte before", append([]byte{'\n'}, data...))
}

// A user with the plan key detects plans that were changed and sealed again without the key, whether or not the seal
// has the ID of the key.
func TestKeys(t *testing.T) {
	key, other := []byte("0123456789abcdef"), []byte("another one")
	read := func(data, key []byte) (*Contents, string) {
		var bag diag.Bag
		c, _ := Read("a.plan", data, key, &bag)
		if bag.Len() == 0 {
			return c, ""
		}
		return c, bag.List()[0].Detail
	}
	var b bytes.Buffer
	if err := Write(&b, full(t), key); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	for _, c := range []struct {
		what string
		data []byte
		key  []byte
		own  bool
	}{
		{"its key", data, key, true}, {"another key", data, other, false}, {"no key", data, nil, false},
		{"without a seal that has a key", write(t, full(t)), key, false},
	} {
		if got, msg := read(c.data, c.key); got == nil || got.Own != c.own {
			t.Errorf("%s: %+v, %s", c.what, got, msg)
		}
	}
	body := data[:len(data)-sealSize]
	for i := range body {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		forged := seal(changed, other)
		copy(forged[len(sealBegin):], keyID(key))
		sum := sha256.Sum256(append(bytes.Clone(changed), forged[:sealSize-macDigits]...))
		copy(forged[sealSize-macDigits:], hex.EncodeToString(sum[:]))
		if c, msg := read(append(changed, forged...), key); c != nil || msg == "" {
			t.Fatalf("byte %d of %d changed, and sealed again: accepted", i, len(data))
		}
		anew := append(bytes.Clone(changed), seal(changed, other)...)
		if c, _ := read(anew, key); c != nil && c.Own {
			t.Fatalf("byte %d of %d changed, and sealed with another key: taken for our own", i, len(data))
		}
	}
}

// member is a member of an archive that a test makes: its name and content.
type member struct{ name, text string }

// sealed returns an archive of members with a correct seal (the digest at the end), but without a key.
func sealed(t testing.TB, ms ...member) []byte {
	var b bytes.Buffer
	a := newArchive(&b, time.Time{}, nil)
	for _, m := range ms {
		a.add(m.name, []byte(m.text))
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// with returns the plan file of full with some members replaced, added, or left out (text "-").
func with(t testing.TB, changes ...member) []byte {
	data := write(t, full(t))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out []member
	for _, f := range z.File {
		r, _ := f.Open()
		text, _ := io.ReadAll(r)
		out = append(out, member{f.Name, string(text)})
	}
next:
	for _, c := range changes {
		for i, m := range out {
			if m.name == c.name {
				out[i] = c
				continue next
			}
		}
		out = append(out, c)
	}
	var kept []member
	for _, m := range out {
		if m.text != "-" {
			kept = append(kept, m)
		}
	}
	return sealed(t, kept...)
}

func TestRefused(t *testing.T) {
	var plain bytes.Buffer
	z := zip.NewWriter(&plain)
	w, _ := z.Create("tfplan")
	w.Write([]byte(firstLine("1.12.0")))
	z.Close()
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"empty", nil, "it is not a complete zip archive"},
		{"text", []byte("garbage"), "it is not a complete zip archive"},
		{"a state", []byte(`{"version":4}`), "it is not a complete zip archive"},
		{"another archive", sealed(t, member{"main.tf", "x"}), `has no member "tfplan"`},
		{"a plan of a peer", with(t, member{"tfplan", "\x08\x03\x12\x05hello"}), "Unsupported plan file; The file a.plan is a saved plan of another program"},
		{"an empty plan", with(t, member{"tfplan", ""}), "a saved plan of another program"},
		{"a newer format", with(t, member{"tfplan", "lethe plan v16 1.13.0\nxyz"}), "created by Lethe v1.13.0 in version 16 of the plan format, and this version of Lethe supports version 15. Use the version of Lethe that created the plan, or make a new plan."},
		{"an older format", with(t, member{"tfplan", "lethe plan v2 1.12.0\n\x00\x05"}), "created by Lethe v1.12.0 in version 2 of the plan format, and this version of Lethe supports version 15."},
		{"half a first line", with(t, member{"tfplan", "lethe plan v4 1.12.0"}), "has an invalid beginning"},
		{"no program", with(t, member{"tfplan", "lethe plan v4\nx"}), "has an invalid beginning"},
		{"no seal", plain.Bytes(), "its end is missing"},
		{"no body", with(t, member{"tfplan", firstLine("1.12.0")}), "EOF"},
		{"half a body", with(t, member{"tfplan", firstLine("1.12.0") + `{"Mode":"nor`}), "unexpected EOF"},
		{"a body too long", with(t, member{"tfplan", firstLine("1.12.0") + "{}{}"}), "there is more data after its end"},
		{"too few changes", with(t, member{"tfplan", firstLine("1.12.0") + `{"Changes":1}`}), "EOF"},
		{"an unknown mode", with(t, member{"tfplan", firstLine("1.12.0") + `{"Mode":"upside-down"}`}), `"upside-down" is not a planning mode`},
		{"an unknown action", with(t, member{"tfplan", firstLine("1.12.0") + `{"Outputs":[{"Action":"x"}]}`}), `"x" is not an action`},
		{"an unknown field", with(t, member{"tfplan", firstLine("1.12.0") + `{"Later":1}`}), `unknown field "Later"`},
		{"an unknown type", with(t, member{"tfplan", firstLine("1.12.0") + `{"Outputs":[{"After":{"Type":1}}]}`}), "a type is missing"},
		{"half a value", with(t, member{"tfplan", firstLine("1.12.0") + `{"Outputs":[{"After":{"Type":1,"Of":"string","Size":1}}]}`}, member{"values", "\xa5"}), "a string is required"},
		{"a value too few", with(t, member{"tfplan", firstLine("1.12.0") + `{"Outputs":[{"After":{"Type":1,"Of":"string","At":1,"Size":1}}]}`}, member{"values", "\xa5"}), `a value is missing from the member "values"`},
		{"a value before all", with(t, member{"tfplan", firstLine("1.12.0") + `{"Outputs":[{"After":{"Type":1,"Of":"string","At":-1,"Size":1}}]}`}, member{"values", "\xa5"}), `a value is missing from the member "values"`},
		{"an address that is none", with(t, member{"tfplan", firstLine("1.12.0") + `{"Changes":1}{"Object":"a b"}`}), "is not a valid resource address"},
		{"no state", with(t, member{"tfstate", "-"}), `member "tfstate" is missing`},
		{"no previous state", with(t, member{"tfstate-prev", "-"}), `member "tfstate-prev" is missing`},
		{"no modules", with(t, member{"tfconfig/modules.json", "-"}), `member "tfconfig/modules.json" is missing`},
		{"no lock file", with(t, member{".terraform.lock.hcl", "-"}), `member ".terraform.lock.hcl" is missing`},
		{"an empty state", with(t, member{"tfstate", ""}), "State file is empty"},
		{"a state without the object", with(t, member{"tfstate", `{"version":4,"serial":1,"lineage":"x","outputs":{},"resources":[]}`}), "the state has no object"},
		{"modules that are none", with(t, member{"tfconfig/modules.json", "{}"}), `member "tfconfig/modules.json" cannot be read`},
		{"a module twice", with(t, member{"tfconfig/modules.json", `[{"Key":""},{"Key":"m"},{"Key":""}]`}), "twice"},
		{"an unlisted module", with(t, member{"tfconfig/m-n/main.tf", ""}), "unexpected member"},
		{"a path upwards", with(t, member{"tfconfig/m-/../../x", ""}), "unexpected member"},
		{"an absolute path", with(t, member{"/etc/passwd", ""}), "unexpected member"},
		{"a backslash", with(t, member{`tfconfig/m-/..\x`, ""}), "unexpected member"},
		{"something else", with(t, member{"readme", ""}), "unexpected member"},
		{"a member twice", sealed(t, member{"tfplan", ""}, member{"tfplan", ""}), `two members with the name "tfplan"`},
	} {
		got, msg := readBack(c.data)
		if got != nil || !strings.Contains(msg, c.want) || strings.Contains(msg, "\n") {
			t.Errorf("%s: want one message with %q, got %q", c.what, c.want, msg)
		}
	}
}

// bomb returns a sealed archive with a member that inflates enormously.
func bomb(t testing.TB, method uint16, data []byte, compressed, size uint64) []byte {
	var b bytes.Buffer
	a := newArchive(&b, time.Time{}, nil)
	a.add(memberPlan, []byte(firstLine("1.12.0")))
	a.add(memberValues)
	for _, name := range []string{memberState, memberPrev, memberList, memberLock} {
		w, err := a.zip.CreateRaw(&zip.FileHeader{Name: name, Method: method, CompressedSize64: compressed, UncompressedSize64: size})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBombs(t *testing.T) {
	zeros := bytes.Join(deflate([][]byte{make([]byte, 100_000)}), nil)
	letters := []byte(strings.Repeat("0123456789abcdef-", 1000))
	dense := bytes.Join(deflate([][]byte{letters[:4000]}), nil)
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"a high ratio", bomb(t, zip.Deflate, zeros, 500, 500<<20), "would inflate"},
		{"sizes that are no sizes", bomb(t, zip.Deflate, zeros, 1<<62, 1<<63), "would inflate"},
		{"a size larger than the file", bomb(t, zip.Store, zeros, 1<<30, 1<<30), "would inflate"},
		{"more than it says", bomb(t, zip.Deflate, dense, uint64(len(dense)), 2000), "cannot be read"},
	} {
		got, msg := readBack(c.data)
		if got != nil || !strings.Contains(msg, c.want) {
			t.Errorf("%s: want %q, got %q", c.what, c.want, msg)
		}
	}
	// Written plans can be read, even if their contents compress very well.
	in := full(t)
	in.Config[0].Files["zeros.tf"] = make([]byte, 5<<20)
	if _, msg := readBack(write(t, in)); msg != "" {
		t.Error(msg)
	}
}

func TestUnwritable(t *testing.T) {
	const canary = "canary-5a1d"
	why := &mark.Origin{What: "ephemeral.vault.x"}
	secret := mark.Value{Raw: cty.ObjectVal(map[string]cty.Value{"p": cty.StringVal(canary)}),
		Marks: []mark.At{{Path: cty.GetAttrPath("p"), Tag: mark.Ephemeral, Why: why}}}
	for _, c := range []struct {
		what string
		edit func(*Contents)
		want string
	}{
		{"an ephemeral value", func(c *Contents) { c.Plan.Changes[1].After = secret }, `module.m["k"].time_static.c, at p, cannot be stored in a plan: it is ephemeral`},
		{"an ephemeral output", func(c *Contents) { c.Plan.Outputs[0].After = secret }, "output.o, at p, cannot be stored in a plan: it is ephemeral"},
		{"a marked value", func(c *Contents) {
			c.Plan.Changes[1].Before.Raw = cty.TupleVal([]cty.Value{mark.With(cty.StringVal(canary), mark.Ephemeral, why)})
		}, "a marked value cannot be encoded"},
		{"a capsule", func(c *Contents) {
			c.Plan.Variables["v"] = plan.Variable{Value: cty.CapsuleVal(cty.Capsule("thing", reflect.TypeFor[bool]()), new(bool))}
		}, "cannot be stored"},
		{"a place that an ephemeral key names", func(c *Contents) {
			c.Plan.Changes[0].Provider.Key = addr.StringKey(canary).Hide()
		}, "an instance key is ephemeral"},
		{"an object that an ephemeral key names", func(c *Contents) {
			c.Plan.Changes[0].Object.Key = addr.StringKey(canary).Hide()
		}, "an instance key is ephemeral"},
		{"a file outside", func(c *Contents) { c.Config[0].Files["../x.tf"] = nil }, "cannot be saved under this name"},
		{"a module outside", func(c *Contents) { c.Config[1].Key = "../m" }, "cannot be saved under this name"},
	} {
		in := full(t)
		c.edit(in)
		var b bytes.Buffer
		err := Write(&b, in, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: want %q, got %v", c.what, c.want, err)
		}
		if bytes.Contains(b.Bytes(), []byte(canary)) {
			t.Errorf("%s: written all the same", c.what)
		}
	}
}

func TestStale(t *testing.T) {
	s := func(lineage string, serial uint64) *state.Snapshot {
		return &state.Snapshot{Lineage: lineage, Serial: serial}
	}
	for _, c := range []struct {
		what      string
		was, is   *state.Snapshot
		workspace string
		place     string
		want      string
	}{
		{"the same", s("a", 3), s("a", 3), "w", "p", ""},
		{"never a state", nil, nil, "w", "p", ""},
		{"never a state, written as an empty one", s("", 0), nil, "w", "p", ""},
		{"another place that is empty", nil, s("", 0), "w", "q", `Saved plan is for another place; The plan was made for a backend "s3" without a state, and the environment now selects another location`},
		{"a place that is not known", nil, nil, "w", "", ""},
		{"the same, in another place", s("a", 3), s("a", 3), "w", "q", ""},
		{"moved on", s("a", 3), s("a", 4), "w", "p", "Saved plan is stale; The state was changed after the plan was created: the plan is for serial 3, and the state is at serial 4. Make a new plan."},
		{"another content of that serial", s("a", 3), &state.Snapshot{Lineage: "a", Serial: 3, Outputs: map[string]state.Output{"o": {}}}, "w", "p", "both are of serial 3, and their contents differ"},
		{"another state", s("a", 3), s("b", 3), "w", "p", `lineage "a", and this one has the lineage "b"`},
		{"first state", s("", 0), s("b", 1), "w", "p", "when the plan was made, there was no state"},
		{"state deleted", s("a", 1), nil, "w", "p", "the state no longer exists"},
		{"another workspace", s("a", 1), s("a", 1), "x", "p", `made in the workspace "w", and the current workspace is "x"`},
	} {
		got := ""
		if d := Stale(&plan.Plan{Previous: c.was, Origin: plan.Origin{Workspace: "w", Place: "p", Backend: "s3"}}, c.is, c.workspace, c.place); d != nil {
			got = d.Error()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q, got %q", c.what, c.want, got)
		}
	}
	c := &Contents{Version: "1.12.0"}
	if c.WrittenBy("1.12.0") != nil || !strings.Contains(c.WrittenBy("1.12.1").Error(), "created by Lethe v1.12.0, and this is Lethe v1.12.1") {
		t.Error("a plan can be applied only by the version that made it")
	}
}

// Numbers in values of variables keep their value and their precision, so that results of computations do not change.
// Other numbers keep only the value.
func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "7", "0.5", "0.1", "-3", "1e300", "18446744073709551617", "0.33333333333333333333333333333333333333333333333333"} {
		v := cty.MustParseNumberVal(text)
		in := &Contents{Plan: &plan.Plan{Request: plan.Request{Variables: map[string]plan.Variable{"v": {Value: v}}}, Outputs: []*plan.OutputChange{{Name: "o", After: mark.Plain(v)}}},
			Version: "1.12.0", Config: []ConfigModule{{Dir: "."}}}
		out, msg := readBack(write(t, in))
		if msg != "" {
			t.Fatal(msg)
		}
		got, want := out.Plan.Variables["v"].Value.AsBigFloat(), v.AsBigFloat()
		if got.Cmp(want) != 0 || got.Prec() != want.Prec() || !out.Plan.Outputs[0].After.Raw.RawEquals(v) {
			t.Errorf("%s (%d bits) came back as %s (%d bits)", text, want.Prec(), got, got.Prec())
		}
	}
}

// TestFieldsAreNamed: every field in a saved plan has a name in the format, so that renaming a field in Go does not
// change the format.
func TestFieldsAreNamed(t *testing.T) {
	named := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[reflect.Type]bool{}
	text, object := reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[json.Marshaler]()
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		if seen[typ] || typ.Implements(text) || typ.Implements(object) {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			check(typ.Elem())
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(typ) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case f.Anonymous || !f.IsExported() || name == "-" || len(f.Index) > 1 && hidden(typ, f, name):
				case !named.MatchString(name):
					t.Errorf("%s.%s has the name %q in the format", typ, f.Name, name)
				default:
					check(f.Type)
				}
			}
		}
	}
	check(reflect.TypeFor[head]())
	check(reflect.TypeFor[change]())
}

// hidden reports whether the struct typ has a direct field with the JSON name of f, a field of an embedded struct.
func hidden(typ reflect.Type, f reflect.StructField, name string) bool {
	for i := range typ.NumField() {
		if outer, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); outer == name && !typ.Field(i).Anonymous {
			return true
		}
	}
	return false
}

// TestFormatIsDocumented checks that the list of versions names the format of saved plans.
func TestFormatIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "| saved plan | "+format+" |") {
		t.Errorf("docs/reference/versions.md does not name the format %s of saved plans", format)
	}
}
