package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

const canary = "Zq7#canary<&>\"\\é/9"

func origin(addr string) Origin { return Origin{Addr: addr, Kind: EphemeralResult} }

func TestScrub(t *testing.T) {
	var s Set
	if got := s.Scrub("nothing is secret"); got != "nothing is secret" {
		t.Error(got)
	}
	s.Add("hunter2hunter2", origin("var.a"))
	s.Add("short", origin("var.b"))
	s.Add("eight888", Origin{Kind: WriteOnly, Sensitive: true})
	s.Add("2hunter2-tail", origin("var.c"))
	for in, want := range map[string]string{
		"":                            "",
		"hunter2":                     "hunter2",
		"hunter2hunter2":              "(ephemeral value)",
		"a hunter2hunter2 b":          "a (ephemeral value) b",
		"short":                       "short",
		"x=eight888;":                 "x=(sensitive value);",
		"hunter2hunter2-tail.":        "(ephemeral value).",
		"eight888eight888":            "(sensitive value)",
		"eight888 eight888":           "(sensitive value) (sensitive value)",
		"hunter2hunter2hunter2":       "(ephemeral value)",
		"eight88 hunter2hunter eight": "eight88 hunter2hunter eight",
	} {
		if got := s.Scrub(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

// TestForms checks that every spelling of a secret is masked completely, and is found in stored text.
func TestForms(t *testing.T) {
	for _, secret := range []string{canary, "Pässwort-canary\t<&;,?/:+ *'", "-----BEGIN KEY-----\nMIIEcanary0123\ncanary0123456=\n-----END KEY-----\n"} {
		testForms(t, secret)
	}
}

func testForms(t *testing.T, canary string) {
	var s Set
	s.Add(canary, origin("var.a"))
	jsonText, _ := json.Marshal(canary)
	inner, _ := json.Marshal(map[string]string{"k": canary})
	twice, _ := json.Marshal(string(inner))
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	enc.Encode(canary)
	texts := map[string]string{
		"raw": canary, "JSON": string(jsonText), "JSON without HTML": plain.String(), "JSON in JSON": string(twice),
		"Go syntax": strconv.Quote(canary), "query": url.QueryEscape(canary), "path": url.PathEscape(canary),
		"whole path": (&url.URL{Path: canary}).EscapedPath(), "user": url.UserPassword("u", canary).String(), "HTML": html.EscapeString(canary),
		"Go in ASCII": strconv.QuoteToASCII(canary), "DOS": strings.ReplaceAll(canary, "\n", "\r\n"),
		"JavaScript":     strings.NewReplacer("+", "%20", "%2A", "*", "%27", "'").Replace(url.QueryEscape(canary)),
		"JSON in ASCII":  strings.NewReplacer("ä", `\u00e4`, "é", `\u00e9`).Replace(plain.String()),
		"JSON in base64": base64.StdEncoding.EncodeToString(inner), "JSON in base64 in JSON": fmt.Sprintf(`{"k":%q}`, base64.StdEncoding.EncodeToString(jsonText)),
	}
	for _, before := range []string{"", "u", "us", "use", "user:"} {
		for name, e := range map[string]*base64.Encoding{
			"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
		} {
			texts["base64 "+name+" after "+before] = e.EncodeToString([]byte(before + canary + "!"))
		}
	}
	for name, text := range texts {
		got := s.Scrub("<" + text + ">")
		if !strings.Contains(got, "(ephemeral value)") || strings.Contains(got, "canary") {
			t.Errorf("%s: %s", name, got)
		}
		if _, hit := s.Check("<"+text+">", "", nil); !hit {
			t.Errorf("%s is not found: %s", name, text)
		}
		// At the edges, base64 letters encode bits of the secret and of the text around it. They may remain.
		if rest := strings.ReplaceAll(got, "(ephemeral value)", ""); len(rest) > 24 {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
}

func TestLines(t *testing.T) {
	var s Set
	key := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----\n"
	s.Add(key, origin("var.key"))
	framed := "│ -----BEGIN KEY-----\n│   MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n│   BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n│ -----END KEY-----\n"
	want := "│ -----BEGIN KEY-----\n│   (ephemeral value)\n│   (ephemeral value)\n│ -----END KEY-----\n"
	if got := s.Scrub(framed); got != want {
		t.Errorf("%s", got)
	}
	if got := s.Scrub("key: " + strings.TrimSpace(key)); got != "key: (ephemeral value)" {
		t.Errorf("%s", got)
	}
	if _, found := s.Check("contains MIIEvQIBADANBgkqhkiG9w0BAQEFAASC only", "", nil); found {
		t.Error("a line alone is refused")
	}
}

func TestLongSecrets(t *testing.T) {
	var s Set
	long := strings.Repeat("0123456789abcdef-", 1000)
	s.Add(long, origin("var.long"))
	if got := s.Scrub("<" + long + ">"); got != "<(ephemeral value)>" {
		t.Errorf("%.200s", got)
	}
	if got := s.Scrub(long[:200]); strings.Contains(got, "0123456789abcdef-0123456789abcdef-0123456789abcdef-0123456789abcdef") {
		t.Errorf("a part of it shows: %s", got)
	}
	if _, found := s.Check(long[100:1000], "", nil); found {
		t.Error("a part of it is refused")
	}
	if _, found := s.Check("x"+long, "", nil); !found {
		t.Error("it is not refused")
	}
}

// TestLongSecretsOfTwoRules checks that a long secret is masked as a whole, although another rule masks the same text,
// or a text with the same parts, in messages only.
func TestLongSecretsOfTwoRules(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "canary-%02d-", i)
	}
	key := long.String()
	add := func(s *Set, text string) { s.Add(text, origin("var.e")) }
	mask := func(s *Set, text string) { s.MaskValue(cty.StringVal(text), origin("var.e")) }
	for name, register := range map[string]func(*Set, string){"refused": add, "masked": mask} {
		for _, other := range []string{key, key + "\n", key + "and more"} {
			var s Set
			s.MaskInMessages(cty.StringVal(other), origin("var.s"))
			s.MaskInMessages(cty.StringVal(key), origin("var.s"))
			register(&s, key)
			if got := s.Scrub("<" + key + ">"); got != "<(ephemeral value)>" {
				t.Errorf("%s, %q: %s", name, other[len(key):], got)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	var s Set
	s.Add("eightchr", origin("ephemeral.a.b"))
	s.Add("sixteen-chars-16", origin("ephemeral.c.d"))
	s.Add("write-only", Origin{Addr: "x.y", Path: ".password_wo", Kind: WriteOnly})
	s.Add("123456789012", origin("var.account"))
	s.Add("public-and-secret-at-once", origin("var.public"))
	s.Elsewhere(func(text string) bool {
		return text == "public-and-secret-at-once" || text == "postgres://sixteen-chars-16@host"
	})
	for leaf, want := range map[string]string{
		"eightchr":                              "ephemeral.a.b",
		"an eightchr in text":                   "",
		"a sixteen-chars-16 in text":            "ephemeral.c.d",
		"postgres://sixteen-chars-16@host":      "",
		"postgres://sixteen-chars-16@elsewhere": "ephemeral.c.d",
		"some write-only in text":               "x.y",
		base64.StdEncoding.EncodeToString([]byte("sixteen-chars-16")): "ephemeral.c.d",
		base64.StdEncoding.EncodeToString([]byte("eightchr")):         "ephemeral.a.b",
		"arn:aws:iam::123456789012:role/x":                            "",
		"123456789012":                                                "var.account",
		"public-and-secret-at-once":                                   "",
		"with public-and-secret-at-once in it":                        "",
		"nothing":                                                     "",
		"":                                                            "",
		`{"k":"eightchr"}`:                                            "ephemeral.a.b",
		`{"k":"eightchr-2"}`:                                          "",
	} {
		got, found := s.Check(leaf, "", nil)
		if found != (want != "") || got.Addr != want {
			t.Errorf("%q: %v %t", leaf, got, found)
		}
	}
	if got, found := s.Check(`{"k":"c2l4dGVlbi1jaGFycy0xNg=="}`, "", nil); !found || got.Addr != "ephemeral.c.d" {
		t.Errorf("private: %v %t", got, found)
	}
	if _, found := s.Check(`{"schema_version":"1"}`, "", nil); found {
		t.Error("private without a secret")
	}
	var none *Set
	if _, found := none.Check("sixteen-chars-16", "", nil); found || none.Scrub("x") != "x" {
		t.Error("no set")
	}
	// The same string is refused in any text after it was passed to a write-only argument, too.
	s.Add("eightchr", Origin{Addr: "x.z", Kind: WriteOnly})
	if _, found := s.Check("an eightchr in text", "", nil); !found {
		t.Error("the stricter origin does not count")
	}
}

func TestValues(t *testing.T) {
	var s Set
	s.AddValue(cty.ObjectVal(map[string]cty.Value{
		"list":   cty.TupleVal([]cty.Value{mark.With(cty.StringVal("first-secret"), mark.Ephemeral, nil), cty.NullVal(cty.String)}),
		"map":    cty.MapVal(map[string]cty.Value{"the-key-itself": cty.StringVal("second-secret")}),
		"pin":    cty.NumberIntVal(4711),
		"number": cty.MustParseNumberVal("-12345.678"),
		"set":    cty.SetVal([]cty.Value{cty.StringVal("third-secret")}),
		"later":  cty.UnknownVal(cty.String),
	}), Origin{Addr: "ephemeral.x.y", Kind: EphemeralResult})
	got := s.Scrub("first-secret second-secret third-secret 4711 -12345.678 the-key-itself")
	if want := "(ephemeral value) (ephemeral value) (ephemeral value) 4711 (ephemeral value) the-key-itself"; got != want {
		t.Error(got)
	}
	for leaf, path := range map[string]string{"first-secret": ".list[0]", "second-secret": `.map["the-key-itself"]`, "-12345.678": ".number"} {
		if got, found := s.Check(leaf, "", nil); !found || got.Path != path {
			t.Errorf("%s: %v", leaf, got)
		}
	}
	s.Elsewhere(func(text string) bool { return text == "third-secret" || text == "second-secret" })
	for _, leaf := range []string{"second-secret", "third-secret"} {
		if _, found := s.Check(leaf, "", nil); found {
			t.Errorf("%s is plain", leaf)
		}
	}
}

// TestMaskValue checks that a value that may be stored is masked and not refused, until it is registered as ephemeral.
func TestMaskValue(t *testing.T) {
	s := &Set{}
	const canary = "canary-51c7-0123456789"
	origin := Origin{Addr: "module.m.var.s", Kind: EphemeralVariable, Sensitive: true}
	s.MaskValue(cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(canary), "b": cty.StringVal("short")}), origin)
	if got := s.Scrub("it is " + canary + ", short"); got != "it is (sensitive value), short" {
		t.Error(got)
	}
	if got := s.Scrub("it is " + base64.StdEncoding.EncodeToString([]byte(canary))); strings.Contains(got, "Y2Fu") {
		t.Error(got)
	}
	if _, hit := s.Check(canary, "", nil); hit {
		t.Error("what may be kept is refused")
	}
	s.AddValue(cty.StringVal(canary), Origin{Addr: "var.s", Kind: EphemeralVariable})
	if from, hit := s.Check("in "+canary, "", nil); !hit || from.Addr != "var.s" {
		t.Errorf("not refused: %v %v", from, hit)
	}
}

// naive is a simple implementation of Scrub: it replaces each range that pieces cover.
func naive(s *Set, text string) string {
	covered := make([]bool, len(text)+1)
	start := make([]bool, len(text)+1)
	for i := range text {
		for _, p := range s.table.pieces {
			if strings.HasPrefix(text[i:], p.text) {
				start[i] = start[i] || i == 0 || !covered[i-1]
				for j := range p.text {
					covered[i+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			b.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			b.WriteString("(ephemeral value)")
		}
	}
	return b.String()
}

func genText(t *rapid.T, secrets []string) string {
	var b strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		if len(secrets) > 0 && rapid.Bool().Draw(t, "secret") {
			secret := rapid.SampledFrom(secrets).Draw(t, "which")
			from := rapid.IntRange(0, len(secret)).Draw(t, "from")
			b.WriteString(secret[from:])
			b.WriteString(secret)
			continue
		}
		b.WriteString(rapid.StringMatching(`[ab]{0,12}`).Draw(t, "text"))
	}
	return b.String()
}

// TestScrubAny uses an alphabet of two letters, so that secrets overlap often.
func TestScrubAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{8,12}|[abc]{60,150}|[ab\n]{8,40}`), 1, 4).Draw(t, "secrets")
		for _, secret := range secrets {
			s.Add(secret, origin("var.a"))
		}
		text := genText(t, secrets)
		if got, want := s.Scrub(text), naive(&s, text); got != want {
			t.Fatalf("scrub %q:\n got %q\nwant %q", text, got, want)
		}
	})
}

// TestManySecrets checks that all secrets are found after the bitmap has grown.
func TestManySecrets(t *testing.T) {
	var s Set
	for i := range 3000 {
		s.Add(fmt.Sprintf("secret-number-%06d", i), origin("var.a"))
	}
	for i := range 3000 {
		if got := s.Scrub(fmt.Sprintf("<secret-number-%06d>", i)); got != "<(ephemeral value)>" {
			t.Fatalf("%d: %s", i, got)
		}
	}
	if got := s.Scrub("secret-number-999999"); got != "secret-number-999999" {
		t.Error(got)
	}
}

func TestConcurrentUse(t *testing.T) {
	var s Set
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				text := fmt.Sprintf("secret-%d-%d-of-many", i, j)
				s.Add(text, origin("var.a"))
				s.Elsewhere(func(other string) bool { return other == text+"!" })
				if got := s.Scrub(text); got != "(ephemeral value)" {
					t.Error(got)
				}
				s.Check(text, "", nil)
			}
		})
	}
	wg.Wait()
}

func BenchmarkScrub(b *testing.B) {
	text := strings.Repeat("module.network.aws_subnet.private[2]: Creation complete after 3s [id=subnet-0123456789abcdef0]\n", 1000)
	for _, n := range []int{0, 1, 100, 10000} {
		var s Set
		for i := range n {
			s.Add(fmt.Sprintf("%x-secret-%d", i*7919, i), origin("var.a"))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s.Scrub(text)
			}
		})
	}
	b.Run("repetitive", func(b *testing.B) {
		var s Set
		s.Add(strings.Repeat("a", 1<<20)+"b", origin("var.a"))
		text := strings.Repeat("a", 100_000)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s.Scrub(text)
		}
	})
}

// TestManyLines adds a secret of many lines. Quadratic work would take 4,096 times as long as the work for a part of
// them.
func TestManyLines(t *testing.T) {
	add := func(n int) time.Duration {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "line %d of a secret\n", i)
		}
		var s Set
		began := time.Now()
		s.Add(text.String(), origin("var.a"))
		return time.Since(began)
	}
	const part, times = 2000, 64
	want := add(part)
	if got := add(part * times); got > 16*times*want {
		t.Errorf("%d lines take %v, and %d lines %v", part*times, got, part, want)
	}
}

func BenchmarkAdd(b *testing.B) {
	b.ReportAllocs()
	var s Set
	i := 0
	for b.Loop() {
		i++
		s.Add(fmt.Sprintf("a-secret-of-thirty-bytes-%06d", i), origin("var.a"))
	}
}

// TestOutputWaitsForSecrets checks that output waits while secrets may be registered.
func TestOutputWaitsForSecrets(t *testing.T) {
	var s Set
	var printed []string
	say := func(text string) { s.Then(func(bool) { printed = append(printed, s.Scrub(text)) }) }
	say("before")
	first, second := s.Learning(), s.Learning()
	say("my canary-51c7")
	first(true)
	say("more")
	s.Add("canary-51c7", Origin{})
	if len(printed) != 1 {
		t.Errorf("said too early: %q", printed)
	}
	second(true)
	say("after canary-51c7")
	want := []string{"before", "my (ephemeral value)", "more", "after (ephemeral value)"}
	if !slices.Equal(printed, want) {
		t.Errorf("%q", printed)
	}
	known := true
	learned, other := s.Learning(), s.Learning()
	s.Then(func(all bool) { known = all })
	learned(false)
	other(true)
	if known {
		t.Error("a secret that was not learned is known")
	}
	s.Then(func(all bool) { known = all })
	if !known {
		t.Error("what is said later waits for a secret that was not learned")
	}
	(*Set)(nil).Learning()(true)
}
