package keeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/lethe-iac/lethe/internal/state/journal"
)

// A frame is
//
//	length  4 bytes, of all that follows
//	kind    1 byte
//	number  4 bytes: of the call, or of the provider
//	payload
//
// with numbers in little-endian order.
const headSize = 9

type kind byte

// What the engine says. Numbers of calls and of providers are the engine's, each used once.
const (
	startFrame    kind = iota + 1 // a provider: starting as JSON
	callFrame                     // a call: see request
	cancelFrame                   // a call is not waited for any more
	endFrame                      // a provider
	journalFrame                  // of the run: running as JSON
	recordedFrame                 // a change is in the journal: its number there (8)
	secretFrame                   // a string that is secret: told as JSON
	byeFrame                      // all is done: what is open is to be closed, and what changes something is not waited for
)

// What the keeper says.
const (
	startedFrame kind = iota + 101 // a provider: outcome as JSON
	answerFrame                    // a call: code (1), then the answer, or why there is none
	lineFrame                      // a provider wrote a line: length of its level (1), its level, the line
	goneFrame                      // a provider's process has ended: how
	endedFrame                     // the answer to endFrame
	doneFrame                      // the answer to byeFrame: the addresses of what is still open as JSON
)

// request is a call as it travels: number of the provider (4), number in the journal (8), length of the method (1),
// length of the note (4), method, note, and what is asked of the provider.
type request struct {
	provider uint32
	op       journal.Op
	method   string
	note     []byte
	body     []byte
}

const requestHead = 4 + 8 + 1 + 4

// head is what comes before the note, which has so many bytes.
func (r *request) head(note int) []byte {
	b := make([]byte, 0, requestHead+len(r.method))
	b = binary.LittleEndian.AppendUint32(b, r.provider)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.op))
	b = append(b, byte(len(r.method)))
	b = binary.LittleEndian.AppendUint32(b, uint32(note))
	return append(b, r.method...)
}

func readRequest(b []byte) (r request, ok bool) {
	if len(b) < requestHead {
		return r, false
	}
	method, note, rest := int(b[12]), int(binary.LittleEndian.Uint32(b[13:])), b[requestHead:]
	if len(rest) < method+note {
		return r, false
	}
	return request{binary.LittleEndian.Uint32(b), journal.Op(binary.LittleEndian.Uint64(b[4:])), string(rest[:method]), rest[method : method+note], rest[method+note:]}, true
}

// link is one end of the socket pair. It may be written to from many goroutines: each writes what others want to
// have written, too, while they wait for nothing.
type link struct {
	conn net.Conn

	mu         sync.Mutex
	full       net.Buffers // what is to be written before out: long parts as they are, and what is between them
	out, spare []byte
	writing    bool
	err        error
}

// long is the size of a part that is not copied.
const long = 64 << 10

// send sends a frame. The caller may not write to its parts any more. What cannot be sent is of no use: reading ends, too,
// and that is where it is noticed.
func (l *link) send(k kind, number uint32, parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, number, parts)
	l.flush()
}

// queue sends a frame with the next one that is sent.
func (l *link) queue(k kind, number uint32, parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, number, parts)
}

func (l *link) add(k kind, number uint32, parts [][]byte) {
	l.out = binary.LittleEndian.AppendUint32(l.out, uint32(headSize-4+length(parts)))
	l.out = append(l.out, byte(k))
	l.out = binary.LittleEndian.AppendUint32(l.out, number)
	for _, p := range parts {
		if len(p) < long {
			l.out = append(l.out, p...)
			continue
		}
		l.full, l.out = append(l.full, l.out, p), nil
	}
}

func length(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// flush writes what is in full and out, unless another caller does already. The caller holds the lock, which is not held while
// writing.
func (l *link) flush() {
	if l.writing {
		return
	}
	l.writing = true
	for len(l.full)+len(l.out) > 0 && l.err == nil {
		full, b := l.full, l.out
		l.full, l.out = nil, l.spare[:0]
		l.mu.Unlock()
		_, err := full.WriteTo(l.conn)
		if err == nil && len(b) > 0 {
			_, err = l.conn.Write(b)
		}
		l.mu.Lock()
		if l.spare = b[:0]; cap(b) > 1<<20 {
			l.spare = nil
		}
		l.err = err
	}
	l.writing = false
}

// receive takes frames until the other side is gone: then the error is nil. The payload is the frame's own.
func (l *link) receive(take func(k kind, number uint32, payload []byte) error) error {
	in := bufio.NewReaderSize(l.conn, 64<<10)
	var head [headSize]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return nil
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size < headSize-4 {
			return errors.New("a frame is shorter than its head")
		}
		payload := make([]byte, size-(headSize-4))
		if _, err := io.ReadFull(in, payload); err != nil {
			return nil
		}
		if err := take(kind(head[4]), binary.LittleEndian.Uint32(head[5:]), payload); err != nil {
			return err
		}
	}
}
