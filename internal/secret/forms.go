package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
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
		add(url.QueryEscape(text))
		add(url.PathEscape(text))
	}
	encoded := []string{base64.RawStdEncoding.EncodeToString([]byte(text))} // where nothing follows, with the last letter
	for before := range 3 {
		encoded = append(encoded, base64At(text, before))
	}
	for _, form := range encoded {
		add(form)
		add(urlAlphabet.Replace(form))
	}
	return all
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
