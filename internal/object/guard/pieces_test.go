package guard

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// TestPieces: a piece is a text that became a part of a secret text. Objects may contain the host, the user and the
// database of a connection string, and pieces of a text that the schema does not mark sensitive. All other pieces are
// refused, and so is the password in any URL.
func TestPieces(t *testing.T) {
	const piece = "piece-of-text"
	for _, c := range []struct {
		before, after string
		hidden, plain bool // whether the piece is refused if the schema marks the text sensitive (hidden), and if not (plain)
	}{
		{"", "", true, false},
		{"Bearer ", "", true, false},
		{"arn:aws:iam::", ":role/deploy", true, false},
		{"bucket-", "-logs", true, false},
		{"https://", ":8200", false, false},
		{"https://", "", false, false},
		{"https://", "/v1", false, false},
		{"https://", ".internal:8200/v1?x=1", false, false},
		{"https://api.", ".internal", false, false},
		{"pg://app:", "@db/app", true, true},
		{"pg://:", "@db", true, true},
		{"postgres://app:x", "y@db:5432/app?sslmode=require", true, true},
		{"postgres://app:other-piece@", ":5432/app", false, false},
		{"postgres://app:other-piece@db:5432/", "?sslmode=require", false, false},
		{"postgres://", ":other-piece@db:5432/app", false, false},
		{"https://", "@github.com/a/b", true, false},
		{"https://", ":x-oauth-basic@github.com/a/b", true, false},
		{"https://hooks.example.com/services/", "", true, false},
		{"https://example.com/?token=", "", true, false},
		{"host=", " user=u password=other-piece", false, false},
		{strings.Repeat("key=value ", 50) + "host=", " user=u", false, false},
		{"server=db;user id=", ";password=other-piece", false, false},
		{"host=db password=", " user=u", true, false},
		{"https://" + piece + "/?token=", "", true, false},
		{"https://" + piece + ":" + piece + "@", "", true, true},
	} {
		for _, hidden := range []bool{true, false} {
			text := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(c.before + piece + c.after)})
			s := &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String, Optional: true, Sensitive: hidden}}}}
			v := mark.Split(cty.ObjectVal(map[string]cty.Value{"a": made(text.GetAttr("a"), piece, "other-piece")}))
			w := &Guard{Secrets: &secret.Set{}}
			w.Given(v, s, "provider")
			want := c.plain
			if hidden {
				want = c.hidden
			}
			if _, refused := w.Secrets.Check(piece, "", nil); refused != want {
				t.Errorf("%s|%s|%s, sensitive %v: refused is %v", c.before, piece, c.after, hidden, refused)
			}
			if shown := w.Secrets.Scrub("the " + piece); shown != "the (ephemeral value)" {
				t.Errorf("%s|%s|%s, sensitive %v: shown as %q", c.before, piece, c.after, hidden, shown)
			}
		}
	}
}

// made returns an ephemeral text that was made from these pieces.
func made(text cty.Value, pieces ...string) cty.Value {
	for _, p := range pieces {
		of := mark.Piece(mark.With(cty.StringVal(p), mark.Ephemeral, nil))
		text = mark.Same(text, of)
	}
	return mark.Compact(text)
}

// TestPartsOfWriteOnlyArguments: only the marked attributes of a write-only object are secrets. Another object may
// store the text of a sensitive attribute, but not the text of an ephemeral attribute.
func TestPartsOfWriteOnlyArguments(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"host": cty.String, "password": cty.String, "token": cty.String})
	s := &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "login", Type: ty, Optional: true, WriteOnly: true}}}}
	login := map[string]cty.Value{
		"host":     cty.StringVal("db-1.internal.example.org"),
		"password": mark.With(cty.StringVal("canary-of-the-password"), mark.Ephemeral, nil),
		"token":    mark.With(cty.StringVal("canary-of-the-token"), mark.Sensitive, nil),
	}
	whole := mark.With(cty.ObjectVal(map[string]cty.Value{
		"host": login["host"], "password": cty.StringVal("canary-of-the-password"), "token": cty.StringVal("canary-of-the-token"),
	}), mark.Ephemeral, nil)
	of := newGate(t).of.Object.Instance
	for _, c := range []struct {
		login cty.Value
		other map[string]bool // whether another object is refused if it stores the text
	}{
		{cty.ObjectVal(login), map[string]bool{"db-1.internal.example.org": false, "canary-of-the-password": true, "canary-of-the-token": false}},
		{whole, map[string]bool{"db-1.internal.example.org": true, "canary-of-the-password": true, "canary-of-the-token": true}},
	} {
		g := &Guard{Secrets: &secret.Set{}}
		g.WriteOnly(s, of, mark.Split(cty.ObjectVal(map[string]cty.Value{"login": c.login})))
		for text, refused := range c.other {
			if from, hit := g.Secrets.Check(text, "t_thing.other", nil); hit != refused {
				t.Errorf("%q is refused: %v, %v", text, hit, from)
			}
		}
		if from, hit := g.Secrets.Check("canary-of-the-token", of.String(), nil); !hit || from.String() != "the secret t_thing.a.login.token" {
			t.Errorf("refused: %v, %v", hit, from)
		}
	}
}

// TestGivenSensitive: a sensitive setting of a provider may be stored and shown. The setting is masked in messages and
// logs, unless a value without a mark has the same text.
func TestGivenSensitive(t *testing.T) {
	s := &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "region", Type: cty.String, Optional: true}, {Name: "token", Type: cty.String, Optional: true, Sensitive: true},
	}}}
	w := &Guard{Secrets: &secret.Set{}}
	w.Secrets.Elsewhere(func(text string) bool { return text == "eu-central-1" })
	sensitive := func(text string) cty.Value { return mark.With(cty.StringVal(text), mark.Sensitive, nil) }
	token := mark.Same(cty.StringVal("Bearer token-of-the-provider"), mark.Piece(sensitive("token-of-the-provider")))
	w.Given(mark.Split(cty.ObjectVal(map[string]cty.Value{"region": sensitive("region-of-secrets"), "token": token})), s, "provider")
	w.Given(mark.Split(cty.ObjectVal(map[string]cty.Value{"region": sensitive("eu-central-1"), "token": cty.NullVal(cty.String)})), s, "provider")
	for text, message := range map[string]string{
		"arn:region-of-secrets:x":      "arn:(sensitive value):x",
		"token-of-the-provider":        "(sensitive value)",
		"a eu-central-1 b":             "a eu-central-1 b",
		"dG9rZW4tb2YtdGhlLXByb3ZpZGVy": "(sensitive value)",
	} {
		if _, refused := w.Secrets.Check(text, "x", nil); refused || w.Secrets.MayRefuse([]byte(text)) {
			t.Errorf("%q is refused", text)
		}
		if got := w.Secrets.Scrub(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
		if got := w.Secrets.ScrubMessage(text); got != message {
			t.Errorf("%q is said as %q, want %q", text, got, message)
		}
	}
	w.Secrets.MaskValue(cty.StringVal("token-of-the-provider"), secret.Origin{Kind: secret.Setting})
	if got := w.Secrets.Scrub("token-of-the-provider"); got == "token-of-the-provider" {
		t.Error("what is masked everywhere later is shown")
	}
}
