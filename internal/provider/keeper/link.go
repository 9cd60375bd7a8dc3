package keeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/provider/wire"
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

// Frames of the engine. The engine numbers calls and providers, and uses each number only once.
const (
	startFrame    kind = iota + 1 // start a provider: starting as JSON
	callFrame                     // make a call: see request
	cancelFrame                   // a call is no longer waited for
	endFrame                      // end a provider
	journalFrame                  // the journal of the run: running as JSON
	recordedFrame                 // the result of a call is in the journal: its number there (8)
	secretFrame                   // a secret string: secretText as JSON
	streamFrame                   // make a call with several answers: request, without a note
	tookFrame                     // number of bytes (4) of a stream's answers that were taken since the last such frame
	byeFrame                      // the engine has finished: close leases, and do not wait for running changes
)

// Frames of the keeper.
const (
	startedFrame   kind = iota + 101 // a provider was started: outcome as JSON
	answerFrame                      // a call has ended: code (1), then the answer or the error text
	passedFrame                      // one answer of a stream; answerFrame ends it
	lineFrame                        // a provider has written a line: length of its level (1), its level, the line
	connEndedFrame                   // a provider's process has ended: the way it ended
	endedFrame                       // the answer to endFrame
	doneFrame                        // the answer to byeFrame: addresses of the leases that are still open, as JSON
)

// maxPayload is the maximum size of a payload: a message of a provider, with a note that is at most three times as long.
const maxPayload = 4 * wire.MaxMessage

// checkFrame returns an error if the payload of a frame is longer than all payloads, or too short for its kind.
func checkFrame(k kind, size uint32) error {
	least := uint32(0)
	switch k {
	case callFrame, streamFrame:
		least = requestHead
	case recordedFrame:
		least = 8
	case tookFrame:
		least = 4
	case answerFrame, lineFrame:
		least = 1
	}
	if size < least || size > maxPayload {
		return fmt.Errorf("a frame of the kind %d has %d bytes", k, size)
	}
	return nil
}

// unknownFrame returns the error for a frame that only the other side sends.
func unknownFrame(k kind) error { return fmt.Errorf("a frame has the kind %d", k) }

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

// head returns the bytes before the note. note is the length of the note.
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
	method, rest := int(b[12]), b[requestHead:]
	long := binary.LittleEndian.Uint32(b[13:])
	if method == 0 || len(rest) < method || uint64(len(rest)-method) < uint64(long) {
		return r, false
	}
	note := int(long)
	return request{binary.LittleEndian.Uint32(b), journal.Op(binary.LittleEndian.Uint64(b[4:])), string(rest[:method]), rest[method : method+note], rest[method+note:]}, true
}

// room is the maximum number of bytes of one stream that are between the keeper and the caller. If it is reached, the
// keeper reads no further answer, so the provider waits. A single answer may be longer.
const room = 1 << 20

// link is one end of the connection. Its methods may be called concurrently. While a goroutine writes, others only
// queue their frames, and the writing goroutine writes these, too.
type link struct {
	conn io.ReadWriteCloser

	mu          sync.Mutex
	full        net.Buffers // frames to write before out: long parts without a copy, and the bytes between these
	out, buffer []byte
	writing     bool
	held        bool // out contains a secret
	err         error
}

// long is the size, in bytes, from which a part is not copied.
const long = 64 << 10

// send sends a frame. The caller must not change the parts afterwards. If sending fails, receive ends, too, and its
// caller handles the failure.
func (l *link) send(k kind, number uint32, parts ...[]byte) {
	l.queue(k, number, parts...)
	runtime.Gosched() // other goroutines may queue frames, which are sent together
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

// queue adds a frame, which is sent together with the next frame that send sends.
func (l *link) queue(k kind, number uint32, parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, number, parts)
}

// queueSecret adds a secret, which is sent with the next frame that send sends, or by sendSecrets.
func (l *link) queueSecret(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(secretFrame, 0, [][]byte{text})
	l.held = true
}

// sendSecrets sends the queued frames if a secret is among them.
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

// flush writes full and out, unless another goroutine is writing. The caller must hold l.mu. flush releases it while it
// writes.
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

// receive calls the function for each frame, until the other side ends (then receive returns nil) or the function
// returns an error. The function may keep the payload.
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
		size -= headSize - 4
		if err := checkFrame(kind(head[4]), size); err != nil {
			return err
		}
		payload, err := read(in, int(size), wire.MaxMessage)
		if err != nil {
			return nil
		}
		if err := receive(kind(head[4]), binary.LittleEndian.Uint32(head[5:]), payload); err != nil {
			return err
		}
	}
}

// read reads a payload. It first allocates at most the given number of bytes, and then at most as many as have come.
func read(in io.Reader, size, most int) ([]byte, error) {
	payload := make([]byte, min(size, most))
	for from := 0; ; {
		if _, err := io.ReadFull(in, payload[from:]); err != nil || len(payload) == size {
			return payload, err
		}
		from = len(payload)
		payload = slices.Grow(payload, min(size-from, from))[:from+min(size-from, from)]
	}
}
