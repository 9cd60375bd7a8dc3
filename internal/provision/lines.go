package provision

import (
	"bytes"
	"sync"
)

const (
	// longest is the length in bytes at which a line is cut, so that a program that never ends its
	// line does not fill our memory.
	longest = 64 << 10
	// kept is how much of the end of a program's output goes into a message about its failure.
	kept = 8 << 10
)

// lines cuts what is written to it into lines and passes them on. A carriage return ends a line too: programs that show
// progress write nothing else between two states of it. lines also remembers the end of
// it all. It is an io.Writer that never fails, for several writers at a time.
type lines struct {
	emit func(line string)

	mu   sync.Mutex
	over bool   // what comes now comes too late
	back bool   // the last line ended with a carriage return
	part []byte // of a line that is not over
	tail []byte // up to twice as long as it has to be
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return len(b), nil
	}
	l.remember(b)
	for rest := b; len(rest) > 0; {
		if l.back && rest[0] == '\n' { // of \r\n
			l.back, rest = false, rest[1:]
			continue
		}
		l.back = false
		piece, after, whole := rest, []byte(nil), false
		if i := bytes.IndexAny(rest, "\r\n"); i >= 0 {
			piece, after, whole = rest[:i], rest[i+1:], true
		}
		if room := longest - len(l.part); len(piece) > room {
			piece, after, whole = rest[:room], rest[room:], true
		}
		l.part = append(l.part, piece...)
		l.back = whole && len(piece) < len(rest) && rest[len(piece)] == '\r'
		rest = after
		if whole {
			l.flush()
		}
	}
	return len(b), nil
}

func (l *lines) flush() {
	l.emit(string(l.part))
	l.part = l.part[:0]
}

// end passes on a last line that was not ended, and nothing after it: a program that had to be
// left to itself may go on writing.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.flush()
	}
	l.over = true
}

func (l *lines) remember(b []byte) {
	if len(b) > kept {
		b = b[len(b)-kept:]
	}
	if len(l.tail)+len(b) > 2*kept {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-kept:]...)
	}
	l.tail = append(l.tail, b...)
}

// last is the end of what was written.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.tail[max(0, len(l.tail)-kept):])
}
