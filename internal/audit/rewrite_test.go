package audit

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/secret"
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

// TestInnerValuesStay checks that no value is removed that a value contains which stays in the copies: a value of the
// state, also in base64, or a former value of an attribute that the state still stores.
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
