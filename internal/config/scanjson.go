package config

import (
	"bytes"
	"encoding/json"
)

// weighJSON measures a text in JSON syntax: how deep it is, how long its numbers are, and the
// weight of every string that is a template with sequences in it.
func weighJSON(src []byte, l Limits) (tokens int, t trouble) {
	if i := firstBad(src); i >= 0 {
		return 0, trouble{kind: badEncoding, at: i}
	}
	s := &jsonScanner{scale: newScale(l), src: src, template: scanner{scale: newScale(l), bare: true}}
	t = s.run()
	return s.tokens, t
}

type jsonScanner struct {
	*scale
	src  []byte
	pos  int
	open []byte // closing brackets that are waited for

	template scanner // for the strings that are templates
}

func (s *jsonScanner) run() trouble {
	for s.pos < len(s.src) && s.out.kind == noTrouble {
		at := s.pos
		switch c := s.src[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			s.pos++
			continue
		case c == '"':
			s.text()
		case c == '-' || c >= '0' && c <= '9':
			s.number()
		default:
			s.pos++
			s.bracket(c, at)
		}
		s.token(at)
	}
	return s.out
}

// bracket keeps count of what is open. A closing bracket of the wrong kind closes nothing: the
// text is broken then, and how far the parser backs out of it is its own affair.
func (s *jsonScanner) bracket(c byte, at int) {
	switch c {
	case '[', '{':
		s.open = append(s.open, c+2) // in ASCII both closing brackets are two after their opening ones
		if len(s.open) > s.limits.Nesting {
			s.fail(tooDeep, at, s.limits.Nesting)
		}
	case ']', '}':
		if n := len(s.open); n > 0 && s.open[n-1] == c {
			s.open = s.open[:n-1]
		}
	}
}

func (s *jsonScanner) number() {
	start := s.pos
	for s.pos < len(s.src) && bytes.IndexByte([]byte("+-.0123456789eE"), s.src[s.pos]) >= 0 {
		s.pos++
	}
	s.checkNumber(s.src[start:s.pos], start)
}

func (s *jsonScanner) text() {
	start := s.pos
	escaped := false
	for s.pos++; s.pos < len(s.src) && s.src[s.pos] != '"'; s.pos++ {
		if s.src[s.pos] == '\\' {
			escaped = true
			s.pos++
		}
	}
	s.pos = min(s.pos+1, len(s.src))
	raw := s.src[start:s.pos]
	if !hasSequence(raw) && !(escaped && bytes.Contains(raw, []byte(`\u`))) {
		return
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return // the parser says what is wrong with it
	}
	s.template.src, s.template.pos = []byte(text), 0
	s.template.again()
	if t := s.template.run(); t.kind != noTrouble {
		s.fail(t.kind, start, t.n)
	}
}

// hasSequence reports whether a template may be more than literal text.
func hasSequence(b []byte) bool {
	return bytes.Contains(b, []byte("${")) || bytes.Contains(b, []byte("%{"))
}
