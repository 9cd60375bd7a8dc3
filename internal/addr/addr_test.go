package addr

import (
	"slices"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a.b", "a.b"}, {"resource.a.b", "a.b"}, {"data.a.b", "data.a.b"}, {"ephemeral.a.b[0]", "ephemeral.a.b[0]"},
		{"module.m", "module.m"}, {`module.m["k"].module.n[3]`, `module.m["k"].module.n[3]`},
		{`module.m.a.b["x.y[0]"]`, `module.m.a.b["x.y[0]"]`}, {`a.b["q\"uo\\te"]`, `a.b["q\"uo\\te"]`},
		{`a.b["$${x}"]`, `a.b["$${x}"]`}, {`a.b["\u00e9\n"]`, `a.b["é\n"]`}, {"a-b.c_d-1", "a-b.c_d-1"}, {"a.b[007]", "a.b[7]"},
		{"", ""}, {"a", ""}, {"a.", ""}, {".a.b", ""}, {"a.b.c", ""}, {"a.b[", ""}, {"a.b[]", ""}, {"a.b[-1]", ""}, {"a.b[1.5]", ""},
		{"a.b[99999999999999999999]", ""}, {`a.b["`, ""}, {`a.b["x]`, ""}, {`a.b['x']`, ""}, {"module", ""}, {"module.", ""}, {"module.m.", ""},
		{"module.m.n", ""}, {"data.a", ""}, {"a b.c", ""}, {"a.b ", "a.b"}, {"1a.b", ""}, {`a.b["${x}"]`, ""}, {"a.b[0][1]", ""}, {"module.m.module", ""},
	} {
		got, err := ParseTarget(c.in)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%q is read as %q", c.in, got)
		case c.want != "" && err != nil:
			t.Errorf("%q: %v", c.in, err)
		case c.want != "" && got.String() != c.want:
			t.Errorf("%q is read as %q, want %q", c.in, got, c.want)
		case err != nil && !strings.Contains(err.Error(), "is not a valid resource address"):
			t.Errorf("%q: %v", c.in, err)
		}
	}
}

func TestParseNarrower(t *testing.T) {
	if _, err := ParseInstance("module.m"); err == nil || !strings.Contains(err.Error(), "module address") {
		t.Errorf("a module as instance: %v", err)
	}
	if _, err := ParseResource("a.b[0]"); err == nil || !strings.Contains(err.Error(), "instance key") {
		t.Errorf("an instance as resource: %v", err)
	}
	m, err := ParseModuleInstance("")
	if err != nil || !m.IsRoot() {
		t.Errorf("the root: %v %v", m, err)
	}
	if _, err := ParseModuleInstance("a.b"); err == nil {
		t.Error("a resource as module")
	}
	i, err := ParseInstance(`module.m["k"].a.b[1]`)
	if err != nil || i.Resource().String() != "module.m.a.b" || i.Abs().String() != `module.m["k"].a.b` || i.Local() != "a.b[1]" {
		t.Errorf("%v %v", i, err)
	}
	other, _ := ParseInstance(`module.m["k"].a.b[1]`)
	if i != other { // equal addresses must be equal in Go, because maps have addresses as keys
		t.Error("equal addresses differ")
	}
	p, err := ParseProviderInstance(`module.m.provider["registry.terraform.io/hashicorp/aws"].west["k"]`)
	if err != nil || p.String() != `module.m.provider["registry.terraform.io/hashicorp/aws"].west["k"]` || p.Key != StringKey("k") {
		t.Errorf("%v %v", p, err)
	}
	for _, bad := range []string{"", "provider", `provider[x]`, `provider["a/b/c/d"]`, `provider["aws"].`, `provider.aws`} {
		if p, err := ParseProviderInstance(bad); err == nil && bad != "provider.aws" {
			t.Errorf("%q is read as %q", bad, p)
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		target string
		inside []string
		not    []string
	}{
		{"a.b", []string{"a.b", "a.b[0]", `a.b["k"]`}, []string{"a.c", "data.a.b", "module.m.a.b"}},
		{"a.b[0]", []string{"a.b[0]"}, []string{"a.b", "a.b[1]", `a.b["0"]`}},
		{"module.m", []string{"module.m.a.b", "module.m[0].a.b", `module.m["k"].module.n.data.a.b[3]`}, []string{"a.b", "module.n.a.b"}},
		{"module.m[0]", []string{"module.m[0].a.b", "module.m[0].module.n[1].a.b"}, []string{"module.m.a.b", "module.m[1].a.b"}},
		{"module.m.a.b", []string{"module.m[0].a.b[1]"}, []string{"module.m.module.n.a.b", "a.b"}},
		{"module.m.module.n[1].a.b", []string{"module.m[7].module.n[1].a.b"}, []string{"module.m[7].module.n[2].a.b"}},
	} {
		target := mustTarget(t, c.target)
		for _, in := range c.inside {
			if !target.Contains(mustInstance(t, in)) || !target.Covers(mustInstance(t, in).Resource()) {
				t.Errorf("%s does not contain %s", target, in)
			}
		}
		for _, out := range c.not {
			if target.Contains(mustInstance(t, out)) {
				t.Errorf("%s contains %s", target, out)
			}
		}
	}
}

func TestRebase(t *testing.T) {
	for _, c := range []struct{ from, to, what, want string }{
		{"a.b", "a.c", "a.b[1]", "a.c[1]"}, {"a.b", "a.c[0]", "a.b", "a.c[0]"}, {"a.b", "a.c[0]", "a.b[1]", ""},
		{"module.m", "module.n", `module.m["k"].module.x.a.b[0]`, `module.n["k"].module.x.a.b[0]`},
		{"module.m", `module.m["k"]`, "module.m.a.b", `module.m["k"].a.b`}, {"module.m[0]", "module.m", "module.m[1].a.b", ""},
		{"a.b", "module.m.a.b", "a.b", "module.m.a.b"}, {"module.m.a.b", "c.d", "module.m.a.b", "c.d"}, {"a.b", "a.c", "a.x", ""},
	} {
		got, ok := mustTarget(t, c.from).Rebase(mustTarget(t, c.to), ModuleInstance{}, mustInstance(t, c.what))
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s from %s to %s: %s %v, want %s", c.what, c.from, c.to, got, ok, c.want)
		}
	}
}

func TestOrder(t *testing.T) {
	want := []string{"data.a.b", "a.b", `a.b[2]`, `a.b[10]`, `a.b["a"]`, `a.b["b"]`, "a.c", "module.a.a.b", "module.a[2].a.b", "module.a[10].a.b", `module.a["k"].a.b`, "module.a.module.z.a.b", "module.b.a.b"}
	var list []Instance
	for _, s := range want {
		list = append(list, mustInstance(t, s))
	}
	for i, a := range list {
		for j, b := range list {
			if got := a.Compare(b); (got < 0) != (b.Compare(a) > 0) || (got == 0) != (i == j) {
				t.Errorf("%s and %s: %d, and %d", a, b, got, b.Compare(a))
			}
		}
	}
	slices.SortFunc(list, Instance.Compare)
	if k := slices.Index(list, mustInstance(t, "a.b[2]")); list[k+1] != mustInstance(t, "a.b[10]") {
		t.Errorf("numbers are ordered as text: %v", list)
	}
}

func TestParseProvider(t *testing.T) {
	for _, c := range []struct{ in, want, display string }{
		{"aws", DefaultHost + "/hashicorp/aws", "hashicorp/aws"}, {"Acme/Toy", DefaultHost + "/acme/toy", "acme/toy"},
		{"registry.terraform.io/acme/toy", "registry.terraform.io/acme/toy", ""}, {"example.com:8443/a/b", "example.com:8443/a/b", ""},
		{"xn--bcher-kva.example/a/b", "bücher.example/a/b", ""}, {"BÜCHER.example/a/b", "bücher.example/a/b", ""},
		{"localhost:1234/a/b", "localhost:1234/a/b", ""}, {"registry.terraform.io/-/aws", "registry.terraform.io/-/aws", ""},
		{"", "", ""}, {"a/b/c/d", "", ""}, {"a//c", "", ""}, {"nodots/a/b", "", ""}, {"terraform-provider-aws", "", ""}, {"a--b", "", ""}, {"-a", "", ""}, {"a_b-", "", ""}, {"a b", "", ""},
	} {
		p, err := ParseProvider(c.in)
		if (err == nil) != (c.want != "") || err == nil && p.String() != c.want {
			t.Errorf("%q is read as %q, %v; want %q", c.in, p, err, c.want)
		}
		if err == nil && c.display != "" && p.ForDisplay() != c.display {
			t.Errorf("%s is shown as %q", p, p.ForDisplay())
		}
	}
	theirs, _ := ParseProvider("registry.terraform.io/-/aws")
	ours, _ := ParseProvider("aws")
	if theirs.Canon() != ours.Canon() || ours.IsBuiltin() || !Builtin("terraform").IsBuiltin() {
		t.Error("one provider is two")
	}
}

func mustTarget(t *testing.T, s string) Target {
	t.Helper()
	target, err := ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func mustInstance(t *testing.T, s string) Instance {
	t.Helper()
	i, err := ParseInstance(s)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// FuzzTarget checks that the text of a parsed target is parsed to the same target, and that a target contains itself.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"a.b", `module.m["k"].data.a.b[0]`, `a.b["\"\\\n$${%%{é"]`, "module.m[1].module.n", "ephemeral.a.b", "a.b[", "module.", `a.b["\ud800"]`, "a.b[18446744073709551616]", "\xff.b", "resource.a.b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := ParseTarget(s)
		if err != nil {
			return
		}
		again, err := ParseTarget(target.String())
		if err != nil || again.String() != target.String() {
			t.Fatalf("%q is written %q, and that is read as %q: %v", s, target, again, err)
		}
		if target.Mode == 0 {
			if !target.ContainsModule(target.AsModule()) {
				t.Errorf("%s does not contain itself", target)
			}
			return
		}
		i := target.AsInstance()
		back, err := ParseInstance(i.String())
		if err != nil || back != i || !target.Contains(i) || i.Compare(back) != 0 {
			t.Errorf("%q: %v is not %v: %v", s, back, i, err)
		}
	})
}

// FuzzProvider checks that the text of a parsed provider or provider instance is parsed to the same address.
func FuzzProvider(f *testing.F) {
	for _, s := range []string{"aws", "a/b", "example.com/a/b", `module.m.provider["a/b"].c["k"]`, `provider["aws"]`, "-/aws", "EXAMPLE.com/ä/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParseProvider(s); err == nil {
			if again, err := ParseProvider(p.String()); err != nil || again != p {
				t.Errorf("%q is %v, and that %v: %v", s, p, again, err)
			}
		}
		if p, err := ParseProviderInstance(s); err == nil {
			if again, err := ParseProviderInstance(p.String()); err != nil || again != p {
				t.Errorf("%q is %v, and that %v: %v", s, p, again, err)
			}
		}
	})
}

func TestJoin(t *testing.T) {
	a := Module{}.Child("a")
	b := Module{}.Child("b").Child("c")
	for _, c := range []struct{ m, rel, want Module }{
		{Module{}, Module{}, Module{}}, {a, Module{}, a}, {Module{}, b, b}, {a, b, a.Child("b").Child("c")},
	} {
		if got := c.m.Join(c.rel); got != c.want {
			t.Errorf("%s from %s is %s", c.rel, c.m, got)
		}
	}
}

// TestParseAsTheLanguageReads checks that addresses on the command line are parsed like expressions of the language.
func TestParseAsTheLanguageReads(t *testing.T) {
	for in, want := range map[string]string{
		`a.b["e\u0301"]`:                      `a.b["é"]`,
		"a.b[\"e\u0301\"]":                    `a.b["é"]`,
		"module.m[\"e\u0301\"].a.b":           `module.m["é"].a.b`,
		` a.b["x"] `:                          `a.b["x"]`,
		`a.b[ "]" ]`:                          `a.b["]"]`,
		`a . b [ " x y " ]`:                   `a.b[" x y "]`,
		"module . m [ 0 ] .\ta.b":             `module.m[0].a.b`,
		`a.b["\" ] "]`:                        `a.b["\" ] "]`,
		`a.b[1e0]`:                            `a.b[1]`,
		`a.b[2.0]`:                            `a.b[2]`,
		`a.b["\u200b\u202e\ufeff\U000e0001"]`: `a.b["\u200b\u202e\ufeff\U000e0001"]`,
		"a.b[\"\u200b\u00a0\"]":               `a.b["\u200b\u00a0"]`,
		"a.b[\"\u0007\u007f\U0001f600\"]":     "a.b[\"\\u0007\\u007f\U0001f600\"]",
	} {
		got, err := ParseTarget(in)
		if err != nil || got.String() != want {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"a.b[+1]", "a.b[-1]", "a.b[1.5]", "a.b[]", "a.b[0x1]", "a b.c", "a.b c", "a.b[1 2]", " ", "a.b[1e400]"} {
		if got, err := ParseTarget(in); err == nil {
			t.Errorf("%q is %q", in, got)
		}
	}
}
