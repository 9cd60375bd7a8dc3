package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms are the ways in which a string is written where text is made of it. The first is the
// string itself.
func forms(text string) []string {
	all := []string{text}
	add := func(form string) {
		if len(form) >= shortest && !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	if !unreserved(text) {
		add(strings.TrimSpace(text))
		for _, escaped := range []string{jsonText(text, true), jsonText(text, false), unquoted(strconv.Quote(text))} {
			add(escaped)
			add(jsonText(escaped, false)) // a JSON document inside a JSON document
		}
		add(unquoted(strconv.QuoteToASCII(text)))
		add(asciiJSON(text))
		add(html.EscapeString(text))
		for _, escaped := range inURLs(text) {
			add(escaped)
		}
		if !strings.Contains(text, "\r") {
			add(strings.ReplaceAll(text, "\n", "\r\n"))
		}
	}
	// In base64 there are the text itself and documents that it stands in.
	for _, inside := range slices.Compact([]string{text, jsonText(text, true), jsonText(text, false)}) {
		encoded := []string{base64.RawStdEncoding.EncodeToString([]byte(inside))} // where nothing follows, with the last letter
		for before := range 3 {
			encoded = append(encoded, base64At(inside, before))
		}
		for _, form := range encoded {
			add(form)
			add(urlAlphabet.Replace(form))
		}
	}
	return all
}

// inURLs are the ways in which a text is escaped in a URL: as a part of a query, a path, a whole
// path and a password, and as JavaScript does.
func inURLs(text string) []string {
	query := url.QueryEscape(text)
	return []string{
		query, url.PathEscape(text), (&url.URL{Path: text}).EscapedPath(),
		strings.TrimPrefix(url.UserPassword("", text).String(), ":"), asJavaScript.Replace(query),
	}
}

// asJavaScript makes what its encodeURIComponent gives of what url.QueryEscape gives.
var asJavaScript = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// asciiJSON is the inside of a JSON string in which nothing but ASCII stands.
func asciiJSON(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(jsonText(text, false))) {
		if u < utf8.RuneSelf {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// InJSON are the ways in which a string stands inside of a JSON document.
func InJSON(text string) []string {
	all := []string{text, jsonText(text, true), jsonText(text, false)}
	return slices.Compact(all)
}

// unreserved reports whether nobody escapes anything in text.
func unreserved(text string) bool {
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~':
		default:
			return false
		}
	}
	return true
}

// urlAlphabet turns base64 into its form for URLs.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// jsonText is the inside of a JSON string.
func jsonText(text string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(text); err != nil {
		return text
	}
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

func unquoted(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`) }

// base64At is how text appears in base64 where a number of bytes (modulo 3) stand before it and
// others follow: those letters that nothing else has a part in.
func base64At(text string, before int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00\x00"[:before] + text))
	from, to := (8*before+5)/6, 8*(before+len(text))/6
	return encoded[from:to]
}

// lines are the lines of a secret of several, for text that is shown in a frame. They are masked,
// not refused: a line may be a common one. The frame of a PEM block is.
func lines(text string) []string {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < shortest || strings.HasPrefix(line, "-----") {
			continue
		}
		for _, form := range []string{line, jsonText(line, true), jsonText(line, false)} {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	return all
}
