package jsontext

import "bytes"

// Same reports whether two JSON texts are equal but for white space and the spelling of
// strings. It says no to objects whose members are in different order: that costs a write, no
// more.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := Scanner{In: a}, Scanner{In: b}
	for {
		c, d := x.Peek(), y.Peek()
		if x.Pos == len(a) || y.Pos == len(b) {
			return x.Pos == len(a) && y.Pos == len(b)
		}
		switch {
		case c != d:
			return false
		case c == '"':
			if !sameString(&x, &y) {
				return false
			}
		case layout[c] != plain:
			x.Pos++
			y.Pos++
		case !bytes.Equal(x.atom(), y.atom()):
			return false
		}
	}
}

func sameString(x, y *Scanner) bool {
	i, j := x.Pos, y.Pos
	if !x.skipString() || !y.skipString() {
		return false
	}
	a, b := x.In[i:x.Pos], y.In[j:y.Pos]
	if bytes.Equal(a, b) {
		return true
	}
	s, err1 := Unquote(a)
	t, err2 := Unquote(b)
	return err1 == nil && err2 == nil && s == t
}

// atom passes a number or a word.
func (s *Scanner) atom() []byte {
	from := s.Pos
	for s.Pos < len(s.In) && layout[s.In[s.Pos]] == plain {
		s.Pos++
	}
	return s.In[from:s.Pos]
}
