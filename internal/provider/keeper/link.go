package keeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
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

// Frames of the engine. It numbers calls and providers, and uses each number once.
const (
	startFrame    kind = iota + 1 // a provider: starting as JSON
	callFrame                     // a call: see request
	cancelFrame                   // a call is not waited for any more
	endFrame                      // a provider
	journalFrame                  // of the run: running as JSON
	recordedFrame                 // a change is in the journal: its number there (8)
	secretFrame                   // a secret string: secretText as JSON
	streamFrame                   // a call with many answers: request, without a note
	tookFrame                     // so many bytes (4) of a stream's answers were taken since the last one
	byeFrame                      // the engine has finished: leases are to be closed, and changes in progress are not waited for
)

// Frames of the keeper.
const (
	startedFrame   kind = iota + 101 // a provider: outcome as JSON
	answerFrame                      // a call: code (1), then the answer, or the reason for its absence
	passedFrame                      // one answer of a stream; answerFrame ends it
	lineFrame                        // a provider wrote a line: length of its level (1), its level, the line
	connEndedFrame                   // a provider's process has ended: how
	endedFrame                       // the answer to endFrame
	doneFrame                        // the answer to byeFrame: the addresses of the leases that are still open, as JSON
)

// request is an encoded call: number of the provider (4), number in the journal (8), length of the method (1), length
// of the note (4), method, note, and the provider's request.
type request struct {
	provider uint32
	op       journal.Op
	method   string
	note     []byte
	body     []byte
}

const requestHead = 4 + 8 + 1 + 4

// head returns the bytes before the note, which has the given length.
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

// room is the maximum number of bytes of one stream between the keeper and the caller. When it is reached, the keeper
// waits, and so does the provider. A single answer may be longer.
const room = 1 << 20

// link is one end of the socket pair. Many goroutines may write to it: each also writes the frames of the others, while
// they wait for nothing.
type link struct {
	conn net.Conn

	mu          sync.Mutex
	full        net.Buffers // frames before out: long parts without a copy, and the bytes between them
	out, buffer []byte
	writing     bool
	held        bool // there is a secret in out
	err         error
}

// long is the size of a part that is not copied.
const long = 64 << 10

// send sends a frame. The caller must not change its parts afterwards. A failure to send ends the reading as well, and
// is noticed there.
func (l *link) send(k kind, number uint32, parts ...[]byte) {
	l.queue(k, number, parts...)
	runtime.Gosched() // goroutines that are about to send go along
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

// queue sends a frame together with the next one.
func (l *link) queue(k kind, number uint32, parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, number, parts)
}

// queueSecret sends a secret with the next frame that is sent, or when sendSecrets is called.
func (l *link) queueSecret(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(secretFrame, 0, [][]byte{text})
	l.held = true
}

// sendSecrets sends the secrets that are queued.
func (l *link) sendSecrets() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.flush()
	}
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

// flush writes full and out, unless another caller does already. The caller holds the lock; it is not held while
// writing.
func (l *link) flush() {
	if l.writing {
		return
	}
	l.writing = true
	for len(l.full)+len(l.out) > 0 && l.err == nil {
		full, b := l.full, l.out
		l.full, l.out, l.held = nil, l.buffer[:0], false
		l.mu.Unlock()
		_, err := full.WriteTo(l.conn)
		if err == nil && len(b) > 0 {
			_, err = l.conn.Write(b)
		}
		l.mu.Lock()
		if l.buffer = b[:0]; cap(b) > 1<<20 {
			l.buffer = nil
		}
		l.err = err
	}
	l.writing = false
}

// receive calls the function for each frame until the other side ends; then it returns nil. The function may keep the
// payload.
func (l *link) receive(receive func(k kind, number uint32, payload []byte) error) error {
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
		if err := receive(kind(head[4]), binary.LittleEndian.Uint32(head[5:]), payload); err != nil {
			return err
		}
	}
}
