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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// encoders are the layers that are peeled, by the names that the guide has for them.
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
	},
	"doubled quotes": {
		func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
		func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
	},
	"indented lines": {
		func(s string) string { return "key: |\n  " + strings.ReplaceAll(s, "\n", "\n  ") },
		func(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t\t ") },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") },
	},
	"URLs": {
		url.QueryEscape, url.PathEscape,
		func(s string) string { return (&url.URL{Path: s}).EscapedPath() },
		func(s string) string { return url.UserPassword("user", s).String() },
		func(s string) string { // of JavaScript
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
}

func base64s() []func(string) string {
	var all []func(string) string
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "us"} {
			all = append(all, func(s string) string { return e.EncodeToString([]byte(before + s)) })
		}
		all = append(all, func(s string) string { return "Basic/" + e.EncodeToString([]byte(s+"!")) })
	}
	return append(all, func(s string) string { // as MIME and PEM have it
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
	canary, "Pässwort-canary\t<&;,?/:+ *'", "hunter2-canary", "-----BEGIN KEY-----\nMIIEcanary0123\ncanary0123456=\n-----END KEY-----\n",
}

// TestLayers: each kind of layer that the guide names is looked into, and each that is looked into is named
// there.
func TestLayers(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/ephemeral-values.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(guide), "<!-- what is looked into: begin -->")
	list, _, found := strings.Cut(list, "<!-- what is looked into: end -->")
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

// mustFind wants the secret found, and nothing left of it when it is masked.
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

// TestDepth: four layers in any order, and both of what is long and what is short.
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
		for range deepest {
			name := names[r.IntN(len(names))]
			i := r.IntN(len(encoders[name]))
			if next, ok := wrap(text, name, i); ok && !(strings.Contains(chain, "gzip") && ofWeb(name)) {
				text, chain = next, chain+fmt.Sprintf(" %s %d", name, i)
			}
		}
		mustFind(t, chain, secret, text)
	}
}

// ofWeb reports whether a layer is one that archives are not put into.
func ofWeb(name string) bool { return name == "URLs" || name == "HTML and XML" }

// wrap puts one layer around a text, if it can be.
func wrap(text, name string, i int) (string, bool) {
	switch name {
	case "gzip", "base64", "hexadecimal", "plain":
	case "UTF-16":
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || r == 0 }) {
			return "", false // with other letters it is no text for a layer around it
		}
	case "DOS line breaks": // of the secret itself
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
			return // a layer within another one is looked for in what is text
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

// TestEndlessLayersAreRefused: what was made to take long takes at most 300 times as long as a text in which nothing is
// packed, and is not let pass.
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

// TestLargeFilesAreNoSecrets: large files and archives are not taken for secrets, and are looked through.
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
