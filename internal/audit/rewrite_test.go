package audit

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// rewriterOf returns a rewriter of values, which have the numbers 1, 2 and so on.
func rewriterOf(values ...string) *rewriter {
	w := &rewriter{values: map[string]bool{}, set: &secret.Set{}, number: map[string]int{}}
	for i, v := range values {
		w.values[v], w.number[v] = true, i+1
		w.set.Add(v, secret.Origin{Kind: secret.WriteOnly, Sensitive: true})
	}
	return w
}

// TestRewriteKeepsItsPlace checks that a special member does not change how later members, lists and objects are
// rewritten.
func TestRewriteKeepsItsPlace(t *testing.T) {
	private := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	w := rewriterOf(canary, "canary+77aa/base64==", "canary77", "7700112233", `"quoted-canary"`, "Y2FuYXJ5LWluLWl0")
	for _, tt := range [][2]string{
		{`[{"p":"V","sensitive_attributes":[]},{"p":"V","sensitive_attributes":[]},["V"]]`, `[{"p":null,"sensitive_attributes":[]},{"p":null,"sensitive_attributes":[]},[null]]`},
		{`[{"sensitive_attributes":null},{"p":"V"}]`, `[{"sensitive_attributes":null},{"p":null}]`},
		{`[{"sensitive_attributes":[[{"value":"V"}],[]],"p":"V"},"V"]`, `[{"sensitive_attributes":[[{"value":"(sensitive value)"}],[]],"p":null},null]`},
		{`{"sensitive_attributes":[{"sensitive_attributes":[]},"V"],"p":"V"}`, `{"sensitive_attributes":[{"sensitive_attributes":[]},"(sensitive value)"],"p":null}`},
		{`[{"index_key":"V"},"V"]`, `[{"index_key":"(sensitive value)"},null]`},
		{`{"index_key":["V",{},"V"],"p":"V"}`, `{"index_key":[null,{},null],"p":null}`},
		{`[{"index_key":1},["V"],{"p":"V"}]`, `[{"index_key":1},[null],{"p":null}]`},
		{`{"index_key":7700112233}`, ``},
		{`{"sensitive_attributes":[[{"value":7700112233}]]}`, ``},
		{`[{"private":"` + private(canary) + `"},"V","canary77"]`, `[{"private":null},null,null]`},
		{`[{"private":"` + private(`"`+canary+`"`) + `"},"canary77"]`, `[{"private":"` + private("null") + `"},null]`},
		// An attribute may have the name of private data, and a value that can be decoded as Base64.
		{`{"private":"canary77"}`, `{"private":null}`},
		{`{"private":"01234567canary77"}`, `{"private":"01234567(sensitive value 3)"}`},
		// Private data may have a value in Base64, of which the removed value is the Base64 form.
		{`{"private":"` + private(`{"abcd":"canary-in-it"}`) + `"}`, `{"private":null}`},
		{`{"private":"` + private(`{"abcd":"another"}`) + `","p":"V"}`, `{"private":"` + private(`{"abcd":"another"}`) + `","p":null}`},
		// The quotes of JSON complete a value in quotes.
		{`{"p":"quoted-canary","q":"\"quoted-canary\""}`, `{"p":"quoted-canary","q":null}`},
		{`{"private":["canary77",{},"V"]}`, `{"private":[null,{},null]}`},
		{`{"private":{"a":"V"},"b":["canary77"]}`, `{"private":{"a":null},"b":[null]}`},
	} {
		text, want := strings.ReplaceAll(tt[0], "V", canary), tt[1]
		out, _, err := w.rewrite([]byte(text))
		if (err != nil) != (want == "") || err == nil && string(out) != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", text, out, err, want)
		}
	}
}

// TestRewriteMasksOverlappingValues checks that the mask of a value does not leave the rest of a longer value that
// contains it, and that masks which a text already has stay.
func TestRewriteMasksOverlappingValues(t *testing.T) {
	long, short := canary+"-and-more", canary
	for _, values := range [][]string{{long, short}, {short, long}, {"canary-77aa-other", long, short}} {
		w := rewriterOf(values...)
		out, _, err := w.rewrite(fmt.Appendf(nil, `{"url":"(sensitive value) x://%s@%s"}`, long, short))
		want := fmt.Sprintf(`{"url":"(sensitive value) x://%s@%s"}`, numbered(w.number[long]), numbered(w.number[short]))
		if err != nil || string(out) != want {
			t.Errorf("got %s, %v, want %s", out, err, want)
		}
	}
}

// TestInnerValuesStay checks that a value is not removed if a text that stays in the copies contains it. Such a text is
// a value of the state, also in base64, or a former value of an attribute that the state still stores.
func TestInnerValuesStay(t *testing.T) {
	for _, tt := range []struct {
		now, former string // the value of an attribute that the state stores, in the state and in the copy
		want        WhyKept
	}{
		{"db://u:" + canary + "@h", "db://u:" + canary + "@h", StillInUse},
		{base64.StdEncoding.EncodeToString([]byte("u:" + canary)), "another-password", StillInUse},
		{"another-password", "db://u:" + canary + "@h", StillShared},
		{"another-password", "former-password", ""},
	} {
		a := New(inputs())
		current := a.Place(Place{Kind: State, Name: "s"})
		a.State(current, snapshot(t, 2, db("managed", "url", `{"password":"`+tt.now+`"}`)))
		a.State(a.Place(Place{Kind: Backup, Name: "b"}), snapshot(t, 1,
			db("managed", "url", `{"password":"`+tt.former+`"}`), db("managed", "gone", `{"password":"`+canary+`"}`)))
		m := report(t, a).Removal(current, nil)
		var why WhyKept
		for _, k := range m.Kept {
			if k.Stored == "test_db.gone.password" {
				why = k.Why
			}
		}
		if why != tt.want || (len(m.Secrets) > 0) != (tt.want == "") {
			t.Errorf("%s, before %s: kept because %q, removed %d values", tt.now, tt.former, why, len(m.Secrets))
		}
	}
}

// TestCommonValuesAreRemovedWhereTheyWereStored checks that short values are removed from the attributes and outputs
// that stored them as secrets, and from no other place. A value in a journal stays.
func TestCommonValuesAreRemovedWhereTheyWereStored(t *testing.T) {
	outputs := func(s string) []byte {
		return []byte(`{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{"code":{"value":{"a":["4711"],"b":"other"},"type":["object",{"a":["list","string"],"b":"string"}],"sensitive":true},"plain":{"value":"4711","type":"string"}},"resources":[` + s + `]}`)
	}
	attrs := `{"locked_by_schema":true,"password":"changeme","pin":"4711","url":"4711","tags":{"4711":"4711","k":"changeme"},"login":[{"key":"4712","user":"4712"},{"key":"4711","user":"u"}],"port":[{"code":"4713","name":"4713"}]}`
	want := `{"locked_by_schema":true,"login":[{"key":null,"user":"4712"},{"key":null,"user":"u"}],"password":null,"pin":null,"port":[{"code":null,"name":"4713"}],"tags":{"4711":"4711","k":null},"url":"4711"}`
	recorded := `,"sensitive_attributes":[[{"type":"get_attr","value":"tags"},{"type":"index","value":{"value":"k","type":"string"}}]]`
	other := db("managed", "other", `{"url":"changeme","tags":{"k":"4711"}}`)
	text := outputs(db("managed", "gone", attrs, recorded) + "," + other)
	var bag diag.Bag
	copied, ok := state.Read(text, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	a := New(inputs())
	current := a.Place(Place{Kind: State, Name: "s"})
	a.State(current, snapshot(t, 2, other))
	a.State(a.Place(Place{Kind: Backup, Name: "b"}), copied)
	m := report(t, a).Removal(current, nil)
	out, changed, err := m.Rewrite(text)
	after, ok := state.Read(out, &bag)
	if err != nil || !changed || !ok || len(m.Kept) != 1 || m.Kept[0].Stored != "test_db.gone.locked_by_schema" {
		t.Fatalf("%v, %t, %v, kept %v", err, changed, bag.List(), m.Kept)
	}
	for o, e := range after.Objects() {
		if got := string(jsontext.AppendCompact(nil, e.Attrs)); got != map[string]string{"gone": want, "other": `{"url":"changeme","tags":{"k":"4711"}}`}[o.Name] {
			t.Errorf("%s: %s", o, got)
		}
	}
	if got := fmt.Sprintf("%#v %#v", after.Outputs["code"].Value.Raw, after.Outputs["plain"].Value.Raw); strings.Count(got, "4711") != 1 || strings.Contains(got, "other") {
		t.Error(got)
	}
	a = New(inputs())
	a.State(a.Place(Place{Kind: Backup, Name: "b"}), after)
	if left := lines(report(t, a)); len(left) != 1 || !strings.Contains(left[0], "locked_by_schema") {
		t.Errorf("the copy still has %q", left)
	}
	for _, s := range m.Secrets {
		if !s.Alone {
			t.Errorf("%v is searched for in other texts", s.Stored)
		}
	}

	a = New(inputs())
	a.State(a.Place(Place{Kind: State, Name: "s"}), snapshot(t, 2, other))
	o, e := gone(t, copied)
	a.Journal(a.Place(Place{Kind: Journal, Name: "j"}), []journal.Change{{Object: o, Entry: e}})
	r := report(t, a)
	if m := r.Removal(r.Places[0], nil); len(m.Secrets) > 0 || len(m.Kept) == 0 || m.Kept[0].Why != TooCommon {
		t.Errorf("%+v", m)
	}
}

// gone returns the object "gone" of a state.
func gone(t *testing.T, s *state.Snapshot) (addr.Object, *state.Entry) {
	t.Helper()
	for o, e := range s.Objects() {
		if o.Name == "gone" {
			return o, e
		}
	}
	t.Fatal("no object")
	return addr.Object{}, nil
}
