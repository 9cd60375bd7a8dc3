package devcmd

import (
	"io"
	"unicode/utf8"
)

// longestLine is the number of characters from which on a line may be incomplete. The line editor drops characters
// after 4096. During an evaluation, the terminal of the system buffers the input, and drops characters after 4095.
const longestLine = 4095

// keyboard is a terminal in raw mode for the line editor. It converts ^C, which the editor takes for the end of the
// input, to the end of a line, and invalid UTF-8, at which the editor stops, to question marks. It delivers only one
// line at a time, so that method line describes the line that the editor has just read.
type keyboard struct {
	io.ReadWriter
	typed []byte // typed bytes that Read has not returned yet
	err   error  // the error of the last read

	canceled bool // the line ended with ^C
	garbled  bool // the line has invalid UTF-8; each such byte was replaced by a question mark
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

// next copies the typed bytes to p, up to the end of a line, and returns their number. It returns 0 if more bytes must
// be read first.
func (k *keyboard) next(p []byte) (n int) {
	for n < len(p) && len(k.typed) > 0 {
		r, size := rune(k.typed[0]), 1
		switch {
		case r == '\x03':
			if n > 0 { // Ctrl-C cancels the line before it, so Read first returns the bytes of that line
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
		if r == utf8.RuneError { // replace U+FFFD itself, too, because the editor would stop at U+FFFD
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

// line returns whether the last line was canceled, and whether it had invalid UTF-8 (garbled). It resets both values.
func (k *keyboard) line() (canceled, garbled bool) {
	canceled, garbled = k.canceled, k.garbled
	k.canceled, k.garbled = false, false
	return canceled, garbled
}
