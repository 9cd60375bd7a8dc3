package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func mustRead(t fataler, data []byte) *Snapshot {
	t.Helper()
	var bag diag.Bag
	s, ok := Read(data, &bag)
	if !ok {
		t.Fatalf("cannot read: %v\n%s", bag.List(), data)
	}
	return s
}

func mustWrite(t fataler, s *Snapshot) []byte {
	t.Helper()
	out, err := s.Bytes()
	if err != nil {
		t.Fatalf("cannot write: %v", err)
	}
	return out
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBytesOfTerraform checks that a state file of Terraform is rewritten byte for byte.
func TestBytesOfTerraform(t *testing.T) {
	want := testdata(t, "terraform-1.11.4.tfstate")
	got := mustWrite(t, mustRead(t, want))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("written differently (- theirs, + ours):\n%s", diff)
	}
}

// TestChecksOfTerraform ignores the order of lines, because Terraform writes check results in random order.
func TestChecksOfTerraform(t *testing.T) {
	data := testdata(t, "terraform-1.11.4-checks.tfstate")
	s := mustRead(t, data)
	got := mustWrite(t, s)
	lines := func(b []byte) []string {
		l := strings.Split(strings.ReplaceAll(string(b), "},", "}"), "\n")
		slices.Sort(l)
		return l
	}
	if diff := cmp.Diff(lines(data), lines(got)); diff != "" {
		t.Errorf("written differently:\n%s", diff)
	}
	if !bytes.Equal(got, mustWrite(t, mustRead(t, got))) {
		t.Error("the second writing differs from the first")
	}
	var kinds []string
	for _, c := range s.Checks {
		kinds = append(kinds, c.Kind+" "+c.Addr+" "+c.Status.String())
	}
	want := []string{
		"check check.chk fail", "check module.m.check.inner fail", "output module.m.output.id pass", "output output.o1 pass",
		"resource module.m.terraform_data.x pass", "resource terraform_data.c pass", "resource terraform_data.one pass",
		"var module.m.var.in pass", "var var.v pass",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]CheckedObject{{Addr: `module.m["k1"].check.inner`, Status: Pass}, {Addr: `module.m["k2"].check.inner`, Status: Fail, Failures: []string{"failed inner"}}}, s.Checks[1].Objects); diff != "" {
		t.Error(diff)
	}
}

// everyField is a state file with every field, in an order that no program writes.
const everyField = `
{"resources":[{"instances":[
   {"unk":true,"private":"YWJj","index_key":2,"skip_destroy":true,"prevent_destroy":true,"identity":{"id":"x"},"identity_schema_version":1,"attributes":{"id":"2"},"schema_version":5,
    "sensitive_attributes":[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":0,"type":"number"}},{"type":"index","value":{"value":"k","type":"string"}}]],
    "dependencies":["module.a.data.b.c","z.z","z.z"],"create_before_destroy":true},
   {"index_key":2,"deposed":"aaaaaaaa","status":"tainted","schema_version":0,"attributes_flat":{"id":"q"}}],
  "new":1,"provider":"module.a.provider[\"registry.opentofu.org/hashicorp/null\"].al","each":"list","name":"x","type":"b_b","mode":"managed","module":"module.a[\"k\"]"},
 {"mode":"managed","type":"e","name":"x","provider":"provider[\"registry.terraform.io/a/e\"]","instances":[]}],
 "top":{"a":1},"check_results":null,"outputs":{"o":{"deprecated":"old","type":"number","value":1.50,"sensitive":true}},
 "lineage":"l","serial":5,"terraform_version":"9.9.9","version":4}`

func TestEveryField(t *testing.T) {
	s := mustRead(t, []byte(everyField))
	provider, err := addr.ParseProviderInstance(`module.a.provider["registry.opentofu.org/hashicorp/null"].al`)
	if err != nil {
		t.Fatal(err)
	}
	i, _ := addr.ParseInstance(`module.a["k"].b_b.x[2]`)
	want := &Entry{
		Attrs: []byte(`{"id":"2"}`), Schema: 5, Provider: provider, Private: []byte("abc"), Identity: []byte(`{"id":"x"}`), IdentitySchema: 1,
		Sensitive: []cty.Path{cty.GetAttrPath("a").IndexInt(0).IndexString("k")},
		Recorded: []addr.Resource{
			{Module: addr.Module{}.Child("a"), Mode: addr.Data, Type: "b", Name: "c"},
			{Mode: addr.Managed, Type: "z", Name: "z"}, {Mode: addr.Managed, Type: "z", Name: "z"},
		},
		CreateFirst: true, SkipDestroy: true, Protected: true, Extra: []byte(`{"unk":true}`),
	}
	if diff := cmp.Diff(want, s.Get(i.Current()), comparers); diff != "" {
		t.Errorf("entry (- want, + got):\n%s", diff)
	}
	deposed := &Entry{Flatmap: map[string]string{"id": "q"}, Provider: provider, Tainted: true}
	if diff := cmp.Diff(deposed, s.Get(addr.Object{Instance: i, Deposed: "aaaaaaaa"}), comparers); diff != "" {
		t.Errorf("deposed entry:\n%s", diff)
	}
	if s.Len() != 2 || s.Serial != 5 || s.Lineage != "l" || s.Version != "9.9.9" || string(s.Extra) != `{"top":{"a":1}}` {
		t.Errorf("head: %d objects, %+v", s.Len(), s)
	}
	o := s.Outputs["o"]
	if !o.Value.Raw.RawEquals(cty.NumberFloatVal(1.5)) || !o.Value.Has(mark.Sensitive) || !o.Sensitive || o.Deprecated != "old" {
		t.Errorf("output: %#v", o)
	}
	const wrote = `{
  "version": 4,
  "terraform_version": "9.9.9",
  "serial": 5,
  "lineage": "l",
  "outputs": {
    "o": {
      "value": 1.5,
      "type": "number",
      "sensitive": true,
      "deprecated": "old"
    }
  },
  "resources": [
    {
      "module": "module.a[\"k\"]",
      "mode": "managed",
      "type": "b_b",
      "name": "x",
      "provider": "module.a.provider[\"registry.opentofu.org/hashicorp/null\"].al",
      "instances": [
        {
          "index_key": 2,
          "schema_version": 5,
          "attributes": {
            "id": "2"
          },
          "sensitive_attributes": [
            [
              {
                "type": "get_attr",
                "value": "a"
              },
              {
                "type": "index",
                "value": {
                  "value": 0,
                  "type": "number"
                }
              },
              {
                "type": "index",
                "value": {
                  "value": "k",
                  "type": "string"
                }
              }
            ]
          ],
          "identity_schema_version": 1,
          "identity": {
            "id": "x"
          },
          "private": "YWJj",
          "dependencies": [
            "module.a.data.b.c",
            "z.z"
          ],
          "create_before_destroy": true,
          "skip_destroy": true,
          "prevent_destroy": true,
          "unk": true
        },
        {
          "index_key": 2,
          "status": "tainted",
          "deposed": "aaaaaaaa",
          "schema_version": 0,
          "attributes_flat": {
            "id": "q"
          },
          "sensitive_attributes": []
        }
      ],
      "new": 1
    }
  ],
  "check_results": null,
  "top": {
    "a": 1
  }
}
`
	if diff := cmp.Diff(wrote, string(mustWrite(t, s))); diff != "" {
		t.Errorf("written:\n%s", diff)
	}
}

var comparers = cmp.Options{
	cmp.Comparer(func(a, b addr.Resource) bool { return a == b }),
	cmp.Comparer(func(a, b addr.ProviderInstance) bool { return a == b }),
	cmp.Comparer(func(a, b cty.Path) bool { return a.Equals(b) }),
}

// TestOrder checks the order of instances and resources. The expected order is the order in which Terraform writes a
// shuffled file.
func TestOrder(t *testing.T) {
	e := (*Snapshot)(nil).Edit()
	for _, a := range []string{
		"b.x[10]", `b.x["2"]`, "b.x[2]", "b.x", "a.y", "data.z.z", "module.b.a.a", "module.a.module.c.a.a", `module.a["9"].a.a`,
		"module.a[10].a.a", "module.a[9].a.a", "module.a.a.a", "module.a-b.a.a", "module.ab.a.a",
	} {
		i, err := addr.ParseInstance(a)
		if err != nil {
			t.Fatal(err)
		}
		e.Put(i.Current(), &Entry{Attrs: []byte("{}"), Provider: genProvider})
	}
	var got []string
	f := fileWriter{Snapshot: e.Done()}
	for _, r := range f.fileOrder() {
		for _, s := range r.ordered(nil, fileSlots) {
			got = append(got, objectAt(r.Addr, s).String())
		}
	}
	want := []string{
		"data.z.z", "a.y", "b.x", `b.x["2"]`, "b.x[2]", "b.x[10]", "module.a.a.a", "module.a-b.a.a", "module.a.module.c.a.a",
		`module.a["9"].a.a`, "module.a[10].a.a", "module.a[9].a.a", "module.ab.a.a", "module.b.a.a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProviderInstances checks that the provider of each object is written if a provider instance has a key, and only
// then. OpenTofu does the same.
func TestProviderInstances(t *testing.T) {
	const text = `{"version":4,"serial":1,"lineage":"l","resources":[{"mode":"managed","type":"a","name":"b","instances":[
		{"index_key":0,"provider":"provider[\"registry.opentofu.org/a/b\"].r[\"eu\"]","attributes":{}},
		{"index_key":1,"provider":"provider[\"registry.opentofu.org/a/b\"].r[\"us\"]","attributes":{}}]}]}`
	s := mustRead(t, []byte(text))
	i, _ := addr.ParseInstance("a.b[1]")
	if got := s.Get(i.Current()).Provider.String(); got != `provider["registry.opentofu.org/a/b"].r["us"]` {
		t.Errorf("provider of a.b[1]: %s", got)
	}
	out := string(mustWrite(t, s))
	if n := strings.Count(out, `"provider": `); n != 2 || !strings.Contains(out, `"index_key": 1,
          "provider": "provider[\"registry.opentofu.org/a/b\"].r[\"us\"]",`) {
		t.Errorf("written with %d providers:\n%s", n, out)
	}
	e := s.Edit()
	for o, old := range s.Objects() {
		entry := *old
		entry.Provider.Key = addr.NoKey
		e.Put(o, &entry)
	}
	if n := strings.Count(string(mustWrite(t, e.Done())), `"provider": `); n != 1 {
		t.Errorf("without keys there are %d providers, not one", n)
	}
}

// TestObjectsOfSeveralProviders: an apply that changes the provider of a resource has stopped halfway. The file keeps the
// provider of each object. Without the keys, as Terraform writes the file, the objects have the provider of the resource.
func TestObjectsOfSeveralProviders(t *testing.T) {
	of := func(alias string, k addr.Key) addr.ProviderInstance {
		return addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x"), Alias: alias}, Key: k}
	}
	want := map[addr.Object]addr.ProviderInstance{}
	edit := (&Snapshot{}).Edit()
	put := func(k addr.Key, deposed string, p addr.ProviderInstance) {
		o := addr.Object{Instance: addr.Resource{Mode: addr.Managed, Type: "t", Name: "r"}.In(addr.ModuleInstance{}).Instance(k), Deposed: deposed}
		edit.Put(o, &Entry{Provider: p, Attrs: []byte("{}")})
		want[o] = p
	}
	put(addr.StringKey("a"), "", of("west", addr.NoKey))
	put(addr.StringKey("a"), "00000001", of("each", addr.StringKey("k")))
	put(addr.StringKey("b"), "", of("", addr.NoKey))
	text := mustWrite(t, edit.Done())
	if n := strings.Count(string(text), objectProvider); n != 2 {
		t.Errorf("%d objects name their provider:\n%s", n, text)
	}
	again := mustRead(t, text)
	for o, p := range want {
		if got := again.Get(o).Provider; got != p {
			t.Errorf("%s has %s, not %s", o, got, p)
		}
	}
	if second := mustWrite(t, again); string(second) != string(text) {
		t.Errorf("written again:\n%s", second)
	}
	plain := mustRead(t, regexp.MustCompile(`,\s*"object_provider": .*`).ReplaceAll(text, nil))
	for o := range want {
		if got := plain.Get(o).Provider.Alias; got != "west" {
			t.Errorf("%s has %s", o, got)
		}
	}
	var bag diag.Bag
	if _, ok := Read([]byte(strings.Replace(string(text), "].each", "]!each", 1)), &bag); ok {
		t.Error("an invalid provider is accepted")
	}
}

func TestReadRefuses(t *testing.T) {
	instance := func(fields string) string {
		return `{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","provider":"provider[\"registry.terraform.io/a/b\"]","instances":[` + fields + `]}]}`
	}
	tests := []struct{ name, in, want string }{
		{"empty", "", badEmpty},
		{"blank", " \n", badEmpty},
		{"cut off", `{"version":4,"resources":[{"mode":"man`, badFormat},
		{"cut off between", `{"version":4,"resources":[]`, badFormat},
		{"not json", `hello`, badFormat},
		{"array", `[]`, badFormat},
		{"null", `null`, badFormat},
		{"two documents", `{"version":4}{"version":4}`, badFormat},
		{"byte order mark", "\xef\xbb\xbf{\"version\":4}", "The state file begins with a byte order mark"},
		{"UTF-16, the low byte first", "\xff\xfe{\x00}\x00", "The state file is in UTF-16"},
		{"UTF-16, the high byte first", "\xfe\xff\x00{\x00}", "The state file is in UTF-16"},
		{"zeros", "\x00\x00\x00\x00", badFormat},
		{"trailing comma", `{"version":4,}`, badFormat},
		{"too deep", `{"version":4,"x":` + strings.Repeat("[", 200000), "nesting is deeper"},
		{"no version", `{"serial":1}`, "does not have a \"version\" attribute"},
		{"version 5", `{"version":5,"terraform_version":"2.0.0"}`, "format version 5"},
		{"version 2", `{"version":2,"modules":[]}`, "Convert older versions with Terraform 0.11"},
		{"version 0", `{"version":0}`, badFormat},
		{"version 3 with body of 4", `{"version":3,"resources":[]}`, "Run \"terraform refresh\" with Terraform 0.12"},
		{"version 4 with body of 3", `{"version":4,"modules":[]}`, "also the field \"modules\" of version 3"},
		{"version 3 with body of 4, late", `{"resources":[],"version":3}`, "Run \"terraform refresh\" with Terraform 0.12"},
		{"encrypted", `{"serial":1,"lineage":"l","meta":{},"encrypted_data":"x","encryption_version":"v0"}`, badEncrypted},
		{"negative serial", `{"version":4,"serial":-1}`, "whole number of 0 or more"},
		{"serial with exponent", `{"version":4,"serial":1e3}`, "whole number of 0 or more"},
		{"serial too large", `{"version":4,"serial":18446744073709551616}`, "too large"},
		{"two serials", `{"version":4,"serial":1,"serial":2}`, "twice"},
		{"two resource lists", `{"version":4,"resources":[],"resources":[]}`, "twice"},
		{"ephemeral", `{"version":4,"resources":[{"mode":"ephemeral","type":"a","name":"b","provider":"provider.x","instances":[]}]}`, "Invalid resource mode in state"},
		{"no type", `{"version":4,"resources":[{"mode":"managed","name":"b","provider":"provider.x","instances":[]}]}`, "which are not valid"},
		{"module", `{"version":4,"resources":[{"module":"a.b","mode":"managed","type":"a","name":"b","provider":"provider.x","instances":[]}]}`, "a module with an invalid address"},
		{"provider", `{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","provider":"nonsense","instances":[]}]}`, "not a valid provider configuration address"},
		{"no provider", `{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{}}]}]}`, "names a provider"},
		{"twice", instance(`{"attributes":{}},{"attributes":{}}`), "Instance a.b appears multiple times in the state file."},
		{"key", instance(`{"index_key":1.5}`), "neither a string nor a whole number"},
		{"negative key", instance(`{"index_key":-1}`), "neither a string nor a whole number"},
		{"status", instance(`{"status":"odd"}`), `invalid status "odd"`},
		{"schema version", instance(`{"schema_version":-1}`), "whole number of 0 or more"},
		{"attributes", instance(`{"attributes":[]}`), "attributes should be an object"},
		{"two kinds of attributes", instance(`{"attributes":{},"attributes_flat":{}}`), "has its attributes twice"},
		{"identity", instance(`{"identity":"x"}`), "identity should be an object"},
		{"dependency", instance(`{"dependencies":["foo"]}`), "dependencies are malformed"},
		{"dependency on a module", instance(`{"dependencies":["module.a"]}`), "is a module"},
		{"private", instance(`{"private":"**"}`), "not base64"},
		{"path step", instance(`{"sensitive_attributes":[[{"type":"foo","value":1}]]}`), "unsupported path step type"},
		{"path index", instance(`{"sensitive_attributes":[[{"type":"index","value":{"value":true,"type":"bool"}}]]}`), "neither a string nor a number"},
		{"instance provider", instance(`{"provider":"x"}`), "not a valid provider configuration address"},
		{"two provider configurations", instance(`{"index_key":0,"provider":"provider.x"},{"index_key":1,"provider":"provider.y"}`), "provider configuration differs"},
		{"deposed data", `{"version":4,"resources":[{"mode":"data","type":"a","name":"b","provider":"provider.x","instances":[{"deposed":"00000001"}]}]}`, "deposed"},
		{"output type", `{"version":4,"outputs":{"x":{"value":1}}}`, "Invalid output value type in state"},
		{"output value", `{"version":4,"outputs":{"x":{"value":"a","type":"number"}}}`, "Invalid output value saved in state"},
		{"check status", `{"version":4,"check_results":[{"object_kind":"check","config_addr":"check.c","status":"odd"}]}`, "unknown status"},
		{"version 3", `{"version":3,"terraform_version":"0.11.14","modules":[{"path":["root"],"resources":{"x":{}}}]}`, "Run \"terraform refresh\" with Terraform 0.12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var bag diag.Bag
			s, ok := Read([]byte(tt.in), &bag)
			if ok || s != nil || !bag.HasErrors() {
				t.Fatalf("was read: %v, %v", s, bag.List())
			}
			if got := bag.List()[0].Error(); !strings.Contains(got, tt.want) {
				t.Errorf("the error is %q and should contain %q", got, tt.want)
			}
			if bag.Len() > 1 {
				t.Errorf("one mistake makes %d messages: %v", bag.Len(), bag.List())
			}
		})
	}
}

func TestReadAccepts(t *testing.T) {
	for name, in := range map[string]string{
		"nothing but a version": `{"version":4}`,
		"newer program":         `{"version":4,"terraform_version":"99.0.0","serial":18446744073709551615}`,
		"nulls":                 `{"version":4,"outputs":null,"resources":null,"check_results":null,"lineage":null}`,
		"invalid UTF-8":         "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"a\",\"name\":\"b\",\"provider\":\"provider.x\",\"instances\":[{\"attributes\":{\"a\":\"\xff\"}}]}]}",
		"version last":          `{"resources":[{"mode":"managed","type":"a","name":"b","provider":"provider.x","instances":[{}]}],"version":4}`,
	} {
		t.Run(name, func(t *testing.T) { mustRead(t, []byte(in)) })
	}
}

// TestDependsOn reads the field "depends_on" that the first files of format 4 had beside the attributes.
func TestDependsOn(t *testing.T) {
	s := mustRead(t, []byte(`{"version":4,"resources":[{"module":"module.m","mode":"managed","type":"a","name":"b","provider":"provider.x",
		"instances":[{"attributes":{},"depends_on":["c.d","module.e","data.f.g"]}]}]}`))
	m := addr.Module{}.Child("m")
	want := []addr.Resource{{Module: m, Mode: addr.Managed, Type: "c", Name: "d"}, {Module: m, Mode: addr.Data, Type: "f", Name: "g"}}
	for _, e := range s.Objects() {
		if !slices.Equal(e.Recorded, want) {
			t.Errorf("recorded: %v", e.Recorded)
		}
	}
}

// TestStable checks that writing and reading a snapshot changes only the dependencies: files contain the transitive
// closure.
func TestStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot.Draw(t, "snapshot")
		first := mustWrite(t, s)
		read := mustRead(t, first)
		if !Equal(s, read) {
			t.Fatalf("read back is not equal:\n%s", first)
		}
		if second := mustWrite(t, read); !bytes.Equal(first, second) {
			t.Fatalf("the second writing differs:\n%s", cmp.Diff(string(first), string(second)))
		}
		var w bytes.Buffer
		if err := s.Write(&w); err != nil || !bytes.Equal(w.Bytes(), first) {
			t.Fatalf("Write and Bytes differ: %v", err)
		}
		if bytes.Contains(first, []byte("ephemeral.")) {
			t.Fatalf("an ephemeral resource is named:\n%s", first)
		}
		for o, e := range s.Objects() {
			again, entry, err := ParseObject(AppendObject(nil, o, e))
			if err != nil || again != o || !bytes.Equal(AppendObject(nil, again, entry), AppendObject(nil, o, e)) {
				t.Fatalf("object %s alone: %v", o, err)
			}
		}
	})
}

func TestObjectAlone(t *testing.T) {
	i, _ := addr.ParseInstance(`module.a["x"].b.c[3]`)
	o := addr.Object{Instance: i, Deposed: "0123abcd"}
	text := AppendObject(nil, o, nil)
	if got, e, err := ParseObject(text); err != nil || e != nil || got != o {
		t.Errorf("%s: %v %v %v", text, got, e, err)
	}
	for _, bad := range []string{``, `{}`, `{"address":"a.b"}`, `{"address":"ephemeral.a.b","gone":true}`, `{"address":"a","gone":true}`, `{"address":"a.b","provider":"provider.x","status":"odd"}`, `{"address":"a.b","gone":true} x`} {
		if _, _, err := ParseObject([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	s := big(200, 20, 400)
	if err := s.Write(&failing{100000}); err == nil {
		t.Error("the error of the writer is lost")
	}
}

// difference describes the first difference of two snapshots.
func difference(a, b *Snapshot) string {
	c := comparison{a: a, b: b}
	for o, x := range a.Objects() {
		if y := b.Get(o); y == nil || !c.entries(o.Abs(), x, y) {
			return fmt.Sprintf("%s:\n%+v\n%+v", o, x, y)
		}
	}
	for name, o := range a.Outputs {
		if !sameOutput(o, b.Outputs[name]) {
			return fmt.Sprintf("output %q:\n%#v\n%#v", name, o, b.Outputs[name])
		}
	}
	return fmt.Sprintf("lineage %q %q, %d and %d objects, %d and %d outputs\nextra %q %q\nchecks %+v %+v",
		a.Lineage, b.Lineage, a.Len(), b.Len(), len(a.Outputs), len(b.Outputs), a.Extra, b.Extra, a.Checks, b.Checks)
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"terraform-1.11.4.tfstate", "terraform-1.11.4-checks.tfstate"} {
		f.Add(testdata(f, name))
	}
	f.Add([]byte(everyField))
	f.Add([]byte(`{"version":4,"check_results":[{"object_kind":"check","config_addr":"check.c","status":"pass","objects":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var bag diag.Bag
		s, ok := Read(data, &bag)
		if ok == bag.HasErrors() {
			t.Fatalf("ok is %v with %v", ok, bag.List())
		}
		if !ok {
			return
		}
		first := mustWrite(t, s)
		read := mustRead(t, first)
		if !Equal(s, read) {
			t.Fatalf("read back is not equal: %s", difference(s, read))
		}
		if !bytes.Equal(first, mustWrite(t, read)) {
			t.Fatal("the second writing differs from the first")
		}
	})
}
