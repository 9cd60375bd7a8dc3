package secret

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// encoders holds the encoders of the layers, by their names in the guide.
var encoders = map[string][]func(string) string{
	"plain": {func(s string) string { return s }},
	"the strings of JSON": {
		func(s string) string { return jsonString(s, true) },
		func(s string) string { return jsonString(s, false) },
		func(s string) string { return `{"k":` + jsonString(s, true) + `}` },
		asciiOnly,
	},
	"the strings of Go and shells": {
		strconv.Quote, strconv.QuoteToASCII,
		func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
		func(s string) string { // printf %q of bash
			return regexp.MustCompile("[ -,:-@[-^`{-~]").ReplaceAllString(s, `\$0`)
		},
	},
	"doubled quotes": {
		func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
		func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
	},
	"doubled dollar signs":  {strings.NewReplacer("$", "$$").Replace, strings.NewReplacer("${", "$${").Replace},
	"doubled percent signs": {strings.NewReplacer("%", "%%").Replace, strings.NewReplacer("%{", "%%{").Replace},
	"indented lines": {
		func(s string) string { return "key: |\n  " + strings.ReplaceAll(s, "\n", "\n  ") },
		func(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t\t ") },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") },
	},
	"URLs": {
		url.QueryEscape, url.PathEscape,
		func(s string) string { return (&url.URL{Path: s}).EscapedPath() },
		func(s string) string { return url.UserPassword("user", s).String() },
		func(s string) string { // encodeURIComponent of JavaScript
			return strings.NewReplacer("+", "%20", "%21", "!").Replace(url.QueryEscape(s))
		},
	},
	"HTML and XML": {html.EscapeString, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&#x3E;", `"`, "&quot;", "é", "&eacute;").Replace},
	"base64":       base64s(),
	"hexadecimal": {func(s string) string { return hex.EncodeToString([]byte(s)) }, func(s string) string { return fmt.Sprintf("%X", s) },
		func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% x", s), " ", ":") },
		func(s string) string {
			return "key:\n    " + strings.ReplaceAll(strings.ReplaceAll(fmt.Sprintf("% X", s), " ", ":"), "41:", "41:\n    ")
		},
	},
	"gzip":            {gzipped},
	"UTF-16":          {func(s string) string { return wideText(s, 0) }, func(s string) string { return wideText(s, 1) }},
	"DOS line breaks": {func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
	"colours of terminals": {
		func(s string) string { return s[:1] + "\x1b[01;31m\x1b[K" + s[1:4] + "\x1b[m\x1b[K" + s[4:] }, // grep
		func(s string) string { return "\x1b[1;38:5:9m" + strings.Join(strings.Split(s, ""), "\x1b[0m\x1b[2m") },
	},
}

func base64s() []func(string) string {
	var all []func(string) string
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "us"} {
			all = append(all, func(s string) string { return e.EncodeToString([]byte(before + s)) })
		}
		all = append(all, func(s string) string { return "Basic/" + e.EncodeToString([]byte(s+"!")) })
	}
	return append(all, func(s string) string { // base64 with line breaks, as in MIME and PEM
		text := base64.StdEncoding.EncodeToString([]byte(s))
		var b strings.Builder
		for len(text) > 16 {
			b.WriteString(text[:16] + "\r\n")
			text = text[16:]
		}
		return b.String() + text
	})
}

func jsonString(s string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func asciiOnly(s string) string {
	var b strings.Builder
	for _, r := range jsonString(s, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func wideText(s string, zero int) string {
	var b strings.Builder
	for _, r := range s {
		pair := [2]byte{}
		pair[1-zero] = byte(r)
		b.WriteString(string(pair[:]))
	}
	return b.String()
}

var layered = []string{
	canary, "Pässwort-canary\t<&;,?/:+ *'", "hunter2-canary", "canary$of${a}&100%{b}", "-----BEGIN KEY-----\nMIIEcanary0123\ncanary0123456=\n-----END KEY-----\n",
}

// TestLayers checks that each layer in the guide is searched, and that the guide lists each layer.
func TestLayers(t *testing.T) {
	guide, err := os.ReadFile("../../docs/reference/secret-guard.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(guide), "<!-- encodings: begin -->")
	list, _, found := strings.Cut(list, "<!-- encodings: end -->")
	if !found {
		t.Fatal("the guide has no such list")
	}
	var named []string
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			name, _, _ = strings.Cut(name, ":")
			named = append(named, name)
		}
	}
	for name := range encoders {
		if !slices.Contains(named, name) {
			t.Errorf("the guide does not name %s", name)
		}
	}
	for _, name := range named {
		if len(encoders[name]) == 0 {
			t.Errorf("%s, which the guide names, is not tried", name)
		}
		for i, encode := range encoders[name] {
			for _, secret := range layered {
				if name == "UTF-16" && strings.ContainsFunc(secret, func(r rune) bool { return r > 0xff }) {
					continue
				}
				mustFind(t, fmt.Sprintf("%s %d", name, i), secret, encode(secret))
				mustFind(t, fmt.Sprintf("%s %d in a line", name, i), secret, "time=12:00 level=warn said="+encode(secret)+" and=more")
			}
		}
	}
}

// mustFind fails unless the guard finds the secret and masks all of it.
func mustFind(t interface {
	Helper()
	Errorf(string, ...any)
}, name, secret, text string) {
	t.Helper()
	var s Set
	s.Add(secret, Origin{Addr: "var.a", Kind: WriteOnly})
	if from, hit := s.Check(text, "", nil); !hit || from.Kind == Unclear {
		t.Errorf("%s: %q is not found in %q", name, secret, text)
		return
	}
	masked := s.Scrub(text)
	if again, hit := s.Check(masked, "", nil); hit || !strings.Contains(masked, "(ephemeral value)") {
		t.Errorf("%s: %v is left of %q in %q", name, again, text, masked)
	}
}

// TestDepth checks four layers in any order, with long and short secrets.
func TestDepth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := make([]string, 0, len(encoders))
	for name := range encoders {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 1000 {
		secret := layered[r.IntN(len(layered))]
		text, chain := secret, ""
		for range maxDepth {
			name := names[r.IntN(len(names))]
			i := r.IntN(len(encoders[name]))
			if next, ok := wrap(text, name, i); ok && !(strings.Contains(chain, "gzip") && ofWeb(name)) {
				text, chain = next, chain+fmt.Sprintf(" %s %d", name, i)
			}
		}
		mustFind(t, chain, secret, text)
	}
}

// TestDepthOfDocuments checks that MayRefuse finds in a JSON document whatever Check finds in one of its strings, also
// in long texts that were searched before.
func TestDepthOfDocuments(t *testing.T) {
	for _, long := range []int{0, longText} {
		const secret = `canary "quoted" text`
		text := secret + strings.Repeat(" ", long)
		for depth := range maxDepth + 1 {
			var s Set
			s.Add(secret, origin("var.e"))
			document, _ := json.Marshal(text)
			s.Has(string(document))
			if _, hit := s.Check(text, "", nil); !hit || !s.MayRefuse(document) {
				t.Errorf("depth %d, %d bytes: %v, %v", depth, len(document), hit, s.MayRefuse(document))
			}
			text = string(document)
		}
	}
}

// ofWeb reports whether the search ignores archives in a layer.
func ofWeb(name string) bool { return name == "URLs" || name == "HTML and XML" }

// wrap puts one layer around a text. It returns false if the layer cannot hold the text.
func wrap(text, name string, i int) (string, bool) {
	switch name {
	case "gzip", "base64", "hexadecimal", "plain":
	case "UTF-16":
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || r == 0 }) {
			return "", false // other characters are not text for the next layer
		}
	case "DOS line breaks": // only the secret itself can have them
		return "", false
	default:
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return "", false
		}
	}
	return encoders[name][i%len(encoders[name])](text), true
}

func FuzzLayers(f *testing.F) {
	names := make([]string, 0, len(encoders))
	for name := range encoders {
		names = append(names, name)
	}
	slices.Sort(names)
	f.Add(canary, "before ", " after", []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add("hunter2-canary", "", "", []byte{7, 0, 7, 1, 7, 2, 7, 3})
	f.Fuzz(func(t *testing.T, secret, before, after string, chain []byte) {
		if len(secret) < shortest || strings.TrimSpace(secret) != secret || strings.Contains(before+after, secret) || !utf8.ValidString(secret) || strings.ContainsAny(secret, "\r\x7f") {
			return
		}
		if strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' }) {
			return // the search finds inner layers only in text
		}
		text, did := secret, ""
		for len(chain) > 1 && len(did) < 4 {
			name := names[int(chain[0])%len(names)]
			if next, ok := wrap(text, name, int(chain[1])); ok && name != "plain" && !(strings.Contains(did, "g") && ofWeb(name)) {
				text, did = next, did+name[:1]
			}
			chain = chain[2:]
		}
		var s Set
		s.Add(secret, origin("var.a"))
		if !s.Has(text) {
			t.Fatalf("%q is not found behind %s in %q", secret, did, text)
		}
		s.Scrub(before + text + after)
		s.Check(before+text+after, "", nil)
	})
}

// TestEndlessLayersAreRefused checks texts that were made to take long: the search takes at most 300 times as long as
// in a text without layers, and the text is refused.
func TestEndlessLayersAreRefused(t *testing.T) {
	var s Set
	s.Add("hunter2-canary", origin("var.a"))
	bomb := gzipped(strings.Repeat("\x00", 1<<25))
	began := time.Now()
	s.Check(strings.Repeat("\x00", 3_000_000), "", nil)
	plain := time.Since(began)
	for name, text := range map[string]string{
		"an archive of nothing": base64.StdEncoding.EncodeToString([]byte(bomb)),
		"escapes of escapes":    strings.Repeat(`\\\\\\\\%25%25%25%25&amp;amp;amp;amp;`, 30_000),
		"letters":               strings.Repeat("QUFB", 300_000),
		"short words":           strings.Repeat("aws_instance_type\n", 50_000),
		"beginnings":            strings.Repeat("\x1f\x8b\x08", 100_000),
		"beginnings in base64":  base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 100_000))),
		"ampersands":            strings.Repeat("&", 3_000_000),
	} {
		began := time.Now()
		from, hit := s.Check(text, "", nil)
		if hit && from.Kind != Unclear {
			t.Errorf("%s: %v", name, from)
		}
		if masked := s.Scrub(text); hit != (masked == unclear) {
			t.Errorf("%s: %.100s", name, masked)
		}
		if took := time.Since(began); took > 300*plain {
			t.Errorf("%s took %v, and a plain text %v", name, took, plain)
		}
	}
	if _, hit := s.Check(base64.StdEncoding.EncodeToString([]byte(bomb)), "", nil); !hit {
		t.Error("an archive that cannot be looked through is let pass")
	}
}

// TestLargeFilesAreNoSecrets checks that large files and archives are searched and not refused.
func TestLargeFilesAreNoSecrets(t *testing.T) {
	var s Set
	s.Add("hunter2-canary", origin("var.a"))
	zip := make([]byte, 1<<17)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range zip {
		zip[i] = byte(r.Uint32())
	}
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(zip), gzipped(strings.Repeat("#!/bin/sh\necho hello\n", 1000)),
		base64.StdEncoding.EncodeToString([]byte(gzipped(strings.Repeat("{\"a\": \"b\\n\"}", 100_000)))),
		hex.EncodeToString(zip), string(zip), url.QueryEscape(string(zip)),
	} {
		if from, hit := s.Check(text, "", nil); hit {
			t.Errorf("%v is found in %.100q", from, text)
		}
		if s.Scrub(text) != text {
			t.Errorf("something is masked in %.100q", text)
		}
	}
}

func BenchmarkCheckBase64(b *testing.B) {
	var s Set
	s.Add("hunter2-canary", origin("var.a"))
	zip := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range zip {
		zip[i] = byte(r.Uint32())
	}
	text := base64.StdEncoding.EncodeToString(zip)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Check(text, "", nil)
	}
}

func BenchmarkCheckLeaf(b *testing.B) {
	var s Set
	s.Add("hunter2-canary", origin("var.a"))
	for b.Loop() {
		s.Check("arn:aws:ec2:eu-central-1:123456789012:subnet/subnet-0123456789abcdef0", "", nil)
	}
}

// TestLongTexts searches long texts before a secret is registered, and again after.
func TestLongTexts(t *testing.T) {
	const hidden = "correct-horse-battery"
	filler := strings.Repeat("certificates, policies and scripts of considerable length 0123456789abcdef0123\n", 1000)
	compressed := base64.StdEncoding.EncodeToString([]byte(`{"password":"` + hidden + `"}`))
	var s Set
	s.Add("another-secret", Origin{})
	for _, text := range []string{filler + hidden, filler + compressed + filler, filler + hex.EncodeToString([]byte(hidden)), compressed + filler} {
		if first, second := s.Has(text), s.Has(text); first || second {
			t.Fatal("a secret is found before it is known")
		}
	}
	s.Add(hidden, Origin{})
	if first, second := s.Has(filler), s.Has(filler); first || second {
		t.Error("a secret is found where there is none")
	}
	for _, text := range []string{filler + hidden, filler + compressed + filler, filler + hex.EncodeToString([]byte(hidden)), compressed + filler} {
		for range 2 {
			if !s.Has(text) || strings.Contains(s.Scrub(text), hidden) || s.Scrub(text) == text {
				t.Errorf("the secret is not found in a text of %d bytes", len(text))
			}
		}
	}
}

// TestMayHold checks that words rejected by mayHold decode to no piece, no text and no archive.
func TestMayHold(t *testing.T) {
	seed := time.Now().UnixNano()
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	var s Set
	s.Add("\x01\x02binary\x80secret\x00", Origin{})
	p := &decoder{set: &s}
	for range 20000 {
		raw := make([]byte, 8+random.IntN(40))
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		switch random.IntN(4) {
		case 0:
			copy(raw[random.IntN(len(raw)):], "\x01\x02binary\x80secret\x00")
		case 1:
			copy(raw[random.IntN(len(raw)):], "héllo wörld €")
		case 2:
			copy(raw[random.IntN(len(raw)):], "\x1f\x8b\x08")
		case 3:
			copy(raw[random.IntN(len(raw)):], "a\x00b\x00c\x00d\x00e\x00f\x00g\x00h\x00")
		}
		for _, c := range []*code{&base64Code, &hexCode} {
			text := base64.StdEncoding.EncodeToString(raw)
			if c == &hexCode {
				text = hex.EncodeToString(raw)
			}
			text = strings.TrimRight(text[random.IntN(4):], "=")
			all := c.words(text, false, func([]byte) bool { return true })
			if len(all.ends) == 0 || s.table.mayHold(all.values, c.bits) {
				continue
			}
			for skip := range 8 / (8 - c.bits) {
				l := &layer{text: string(c.decode(all, p.begin(&layer{text: text}, true), skip).text)}
				for range s.table.matches(l.text, false) {
					t.Fatalf("a piece is in %q (seed %d)", text, seed)
				}
				if legible(l).text != "" || strings.Contains(l.text, "\x1f\x8b\x08") {
					t.Fatalf("%q decodes to %q (seed %d)", text, l.text, seed)
				}
			}
		}
	}
}
