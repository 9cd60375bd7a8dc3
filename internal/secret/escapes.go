package secret

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escape is a way to escape characters in a text.
type escape struct {
	least string // the text is decoded only if it contains this string
	marks string // the characters at which an escape may begin
	only  string // the text is decoded only if a secret contains one of these characters; "": always
	// decode decodes the escape at the start of its argument. It returns the decoded text, and the length of the
	// escape, which is 0 if no escape is there.
	decode func(string) (string, int)
	web    bool // the escape is a form of URLs or HTML; see layer.web
}

var escapes = [...]escape{
	{least: `\`, marks: `\`, decode: backslash},                      // JSON, Go, shells and similar languages
	{least: "%", marks: "%", decode: percent, web: true},             // URLs
	{least: "+", marks: "%+", decode: percent, only: " ", web: true}, // queries of URLs, in which a plus is a space
	{least: "&", marks: "&", decode: entity, web: true},              // HTML and XML
	{least: "'", marks: "'", decode: posix, only: "'"},               // a quote in a quoted string of a shell
	{least: "''", marks: "'", decode: doubled, only: "'"},            // doubled quotes in SQL and YAML
	{least: `""`, marks: `"`, decode: doubled, only: `"`},            // doubled quotes in SQL and CSV
	{least: "$$", marks: "$", decode: doubled, only: "$"},            // dollar signs in templates, Make and Compose
	{least: "%%", marks: "%", decode: doubled},                       // percent signs in templates, systemd and batch files
	{least: "\n", marks: "\n", decode: indent, only: "\n"},           // lines of YAML and of heredocs
	{least: "\x1b[", marks: "\x1b", decode: control},                 // colours of terminals
}

// posix decodes a single quote inside a single-quoted string of a POSIX shell: the string ends, a quote with a
// backslash or in double quotes follows, and the string begins again. It returns the decoded text and the length of the
// encoded text, or "" and 0 if s does not begin with such a quote.
func posix(s string) (string, int) {
	for _, trail := range [...]string{`'\''`, `'"'"'`} {
		if strings.HasPrefix(s, trail) {
			return "'", len(trail)
		}
	}
	return "", 0
}

// doubled decodes two equal characters at the beginning of s as one. It returns the decoded text and the length of the
// encoded text, or "" and 0 if the characters differ.
func doubled(s string) (string, int) {
	if len(s) > 1 && s[0] == s[1] {
		return s[:1], 2
	}
	return "", 0
}

// indent decodes a line break and the indentation of the next line as a line break. It returns the decoded text and the
// length of the encoded text, or "" and 0 if no indentation follows.
func indent(s string) (string, int) {
	if rest := strings.TrimLeft(s[1:], " \t"); len(rest) < len(s)-1 {
		return "\n", len(s) - len(rest)
	}
	return "", 0
}

// control decodes a control sequence of a terminal as an empty text. It returns "" and the length of the sequence, or
// "" and 0 if s does not begin with a control sequence.
func control(s string) (string, int) {
	if !strings.HasPrefix(s, "\x1b[") {
		return "", 0
	}
	for i, c := range []byte(s[2:]) {
		switch {
		case c >= '@' && c <= '~':
			return "", i + 3
		case c < ' ' || c > '?':
			return "", 0
		}
	}
	return "", 0
}

// unescape decodes the escapes of the kind e in the text of the outer layer, in.of, and appends the result to the text
// of in. It returns false if the outer layer contains no such escape.
func (in *inner) unescape(e *escape) bool {
	text := in.of.text
	done, any := 0, false
	for next := strings.IndexAny(text, e.marks); next >= 0; next = strings.IndexAny(text[done:], e.marks) {
		at := done + next
		if plain, n := e.decode(text[at:]); n > 0 {
			in.same(done, at)
			in.put(plain, at, at+n)
			done, any = at+n, true
		} else {
			in.same(done, at+1)
			done = at + 1
		}
	}
	if any {
		in.same(done, len(text))
	}
	return any
}

var letters = [256]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v"}

func backslash(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch c := s[1]; {
	case letters[c] != "":
		return letters[c], 2
	case c == 'x':
		if v, ok := digits(s, 2, 2, 4); ok {
			return string([]byte{byte(v)}), 4
		}
	case c == 'u':
		return utf16Escape(s)
	case c == 'U':
		if v, ok := digits(s, 2, 8, 4); ok && v <= utf8.MaxRune {
			return string(rune(v)), 10
		}
	case c >= '0' && c <= '3':
		if v, ok := digits(s, 1, 3, 3); ok {
			return string([]byte{byte(v)}), 4
		}
	case c >= ' ' && c < utf8.RuneSelf && !alphanumeric(c):
		return s[1:2], 2
	}
	return "", 0
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// utf16Escape decodes \u and four digits, or two such escapes that form a surrogate pair. It returns the decoded text
// and the length of the encoded text, or "" and 0 if s does not begin with an escape.
func utf16Escape(s string) (string, int) {
	v, ok := digits(s, 2, 4, 4)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(rune(v)) && strings.HasPrefix(s[6:], `\u`) {
		if w, ok := digits(s, 8, 4, 4); ok {
			if r := utf16.DecodeRune(rune(v), rune(w)); r != utf8.RuneError {
				return string(r), 12
			}
		}
	}
	return string(rune(v)), 6
}

// digits reads n digits of s, beginning at an index. Each digit has the given number of bits (3: octal, 4:
// hexadecimal). It returns false if a character is not such a digit, or if s is too short.
func digits(s string, at, n, bits int) (v uint32, ok bool) {
	if len(s) < at+n {
		return 0, false
	}
	for _, c := range []byte(s[at : at+n]) {
		d := hexCode.value[c]
		if d == none || d >= 1<<bits {
			return 0, false
		}
		v = v<<bits | uint32(d)
	}
	return v, true
}

func percent(s string) (string, int) {
	if s[0] == '+' {
		return " ", 1
	}
	if v, ok := digits(s, 1, 2, 4); ok {
		return string([]byte{byte(v)}), 3
	}
	return "", 0
}

func entity(s string) (string, int) {
	const longest = 33 // the length of the longest entity, such as &CounterClockwiseContourIntegral;
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return "", 0
	}
	if text := html.UnescapeString(s[:end+1]); text != s[:end+1] {
		return text, end + 1
	}
	return "", 0
}
