package devcmd

import (
	"io"
	"unicode/utf8"
)

// longestLine is how many characters arrive of a line that is longer: the editor drops what follows 4096, and the
// system's terminal, which has what is typed while something is evaluated, one less.
const longestLine = 4095

// keyboard is a terminal in raw mode, as its editor of lines needs it: without the keys that this takes for the end of
// all input, and without the bytes at which it stops until something else is typed. A line is read at a time, so that
// what is said of it is about no other.
type keyboard struct {
	io.ReadWriter
	typed []byte // and not yet handed on
	err   error  // of reading

	canceled bool // the line ended with ^C
	garbled  bool // the line has bytes that are no text; a question mark stands for each
}

func (k *keyboard) Read(p []byte) (int, error) {
	for {
		if n := k.next(p); n > 0 {
			return n, nil
		}
		if k.err != nil {
			return 0, k.err
		}
		var more [1024]byte
		n, err := k.ReadWriter.Read(more[:])
		k.typed, k.err = append(k.typed, more[:n]...), err
	}
}

// next hands on what was typed, up to the end of a line. It gives 0 where more has to be read first.
func (k *keyboard) next(p []byte) (n int) {
	for n < len(p) && len(k.typed) > 0 {
		r, size := rune(k.typed[0]), 1
		switch {
		case r == '\x03':
			if n > 0 { // it belongs to the line that begins with what stands before it
				return n
			}
			k.typed, k.canceled = k.typed[1:], true
			p[0] = '\r'
			return 1
		case r == '\r' || r == '\n':
			p[n], k.typed = byte(r), k.typed[1:]
			return n + 1
		case r >= utf8.RuneSelf && !utf8.FullRune(k.typed) && k.err == nil:
			return n
		case r >= utf8.RuneSelf:
			r, size = utf8.DecodeRune(k.typed)
		}
		if r == utf8.RuneError { // typed as such, too: the editor would stop at it
			k.garbled = true
			p[n], k.typed = '?', k.typed[size:]
			n++
			continue
		}
		if n+size > len(p) {
			return n
		}
		n += copy(p[n:], k.typed[:size])
		k.typed = k.typed[size:]
	}
	return n
}

// line says what became of the line that was read last: whether it was canceled, and whether it is text.
func (k *keyboard) line() (canceled, garbled bool) {
	canceled, garbled = k.canceled, k.garbled
	k.canceled, k.garbled = false, false
	return canceled, garbled
}
