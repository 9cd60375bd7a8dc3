package object

import "encoding/binary"

// peekString reads one string member of a MessagePack map without decoding the rest. It reports
// false for anything that is not a plain string, and for malformed input.
func peekString(b []byte, name string) (string, bool) {
	n, b, ok := mapHeader(b)
	if !ok {
		return "", false
	}
	for range n {
		key, rest, ok := str(b)
		if !ok {
			return "", false
		}
		if string(key) == name {
			s, _, ok := str(rest)
			return string(s), ok
		}
		if b, ok = skip(rest, 0); !ok {
			return "", false
		}
	}
	return "", false
}

// nullIn reports whether b is a MessagePack map in which all members of these names are null, as
// far as that can be seen without decoding it: false means that it has to be.
func nullIn(b []byte, names []string) bool {
	n, b, ok := mapHeader(b)
	for ; ok && n > 0; n-- {
		var key []byte
		if key, b, ok = str(b); !ok {
			break
		}
		for _, name := range names {
			if string(key) == name && (len(b) == 0 || b[0] != nullWire[0]) {
				return false
			}
		}
		b, ok = skip(b, 0)
	}
	return ok && len(b) == 0
}

func mapHeader(b []byte) (int, []byte, bool) {
	switch {
	case len(b) == 0:
	case b[0]&0xf0 == 0x80:
		return int(b[0] & 15), b[1:], true
	case b[0] == 0xde && len(b) >= 3:
		return int(binary.BigEndian.Uint16(b[1:])), b[3:], true
	case b[0] == 0xdf && len(b) >= 5:
		return int(binary.BigEndian.Uint32(b[1:])), b[5:], true
	}
	return 0, nil, false
}

// str reads a string.
func str(b []byte) ([]byte, []byte, bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	n, head := 0, 1
	switch {
	case b[0]&0xe0 == 0xa0:
		n = int(b[0] & 31)
	case b[0] == 0xd9 && len(b) > 1:
		n, head = int(b[1]), 2
	case b[0] == 0xda && len(b) > 2:
		n, head = int(binary.BigEndian.Uint16(b[1:])), 3
	case b[0] == 0xdb && len(b) > 4:
		n, head = int(binary.BigEndian.Uint32(b[1:])), 5
	default:
		return nil, nil, false
	}
	if n < 0 || len(b)-head < n {
		return nil, nil, false
	}
	return b[head : head+n], b[head+n:], true
}

// sizes of the fixed-length values from 0xc0 on; -1: of variable length.
var fixed = [...]int{
	0: 1, 0xc2 - 0xc0: 1, 0xc3 - 0xc0: 1,
	0xca - 0xc0: 5, 0xcb - 0xc0: 9,
	0xcc - 0xc0: 2, 0xcd - 0xc0: 3, 0xce - 0xc0: 5, 0xcf - 0xc0: 9,
	0xd0 - 0xc0: 2, 0xd1 - 0xc0: 3, 0xd2 - 0xc0: 5, 0xd3 - 0xc0: 9,
	0xd4 - 0xc0: 3, 0xd5 - 0xc0: 4, 0xd6 - 0xc0: 6, 0xd7 - 0xc0: 10, 0xd8 - 0xc0: 18,
}

// skip passes over one value.
func skip(b []byte, depth int) ([]byte, bool) {
	if len(b) == 0 || depth > 1000 {
		return nil, false
	}
	c := b[0]
	switch {
	case c < 0x80 || c >= 0xe0:
		return b[1:], true
	case c >= 0xa0 && c < 0xc0 || c >= 0xd9 && c <= 0xdb:
		_, rest, ok := str(b)
		return rest, ok
	case c < 0x90 || c == 0xde || c == 0xdf:
		n, rest, ok := mapHeader(b)
		return skipMany(rest, 2*n, depth, ok)
	case c < 0xa0:
		return skipMany(b[1:], int(c&15), depth, true)
	case c == 0xdc && len(b) >= 3:
		return skipMany(b[3:], int(binary.BigEndian.Uint16(b[1:])), depth, true)
	case c == 0xdd && len(b) >= 5:
		return skipMany(b[5:], int(binary.BigEndian.Uint32(b[1:])), depth, true)
	case c >= 0xc4 && c <= 0xc9:
		return skipSized(b)
	}
	if n := int(c) - 0xc0; n < len(fixed) && fixed[n] > 0 && len(b) >= fixed[n] {
		return b[fixed[n]:], true
	}
	return nil, false
}

func skipMany(b []byte, n, depth int, ok bool) ([]byte, bool) {
	for ; ok && n > 0; n-- {
		b, ok = skip(b, depth+1)
	}
	return b, ok
}

// skipSized passes over bin (0xc4–0xc6) and ext (0xc7–0xc9) values.
func skipSized(b []byte) ([]byte, bool) {
	width := 1 << ((b[0] - 0xc4) % 3)
	if len(b) < 1+width {
		return nil, false
	}
	n := 0
	for _, c := range b[1 : 1+width] {
		n = n<<8 | int(c)
	}
	head := 1 + width
	if b[0] >= 0xc7 {
		head++ // the type of an ext
	}
	if n < 0 || len(b)-head < n {
		return nil, false
	}
	return b[head+n:], true
}
