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

// A frame is a message between the engine and the keeper:
//
//	length   4 bytes: the size of all following parts
//	kind     1 byte
//	number   4 bytes: of the call, or of the provider
//	payload  the content
//
// with numbers in little-endian order.
const headSize = 9

type kind byte

// Kinds of frames that the engine sends. The engine numbers calls and providers, and uses each number only once.
const (
	startFrame    kind = iota + 1 // start a provider; payload: starting as JSON
	callFrame                     // make a call; payload: see request
	cancelFrame                   // the engine no longer waits for the call
	endFrame                      // end a provider
	journalFrame                  // the journal of the run; payload: running as JSON
	recordedFrame                 // the result of a call is in the journal; payload: the call's number in the journal (8 bytes)
	secretFrame                   // a secret string; payload: secretText as JSON
	streamFrame                   // make a call with several answers; payload: a request with an empty note
	tookFrame                     // the caller took answers of a stream; payload: their number of bytes (4 bytes) since the last such frame
	byeFrame                      // the engine has finished: close the leases, and do not wait for running changes
)

// Kinds of frames that the keeper sends.
const (
	startedFrame   kind = iota + 101 // a provider was started, or its start failed; payload: outcome as JSON
	answerFrame                      // a call has ended; payload: status code (1 byte), then the answer or the error text
	passedFrame                      // one answer of a stream; answerFrame ends the stream
	lineFrame                        // a provider has written a line; payload: length of the level (1 byte), the level, the line
	connEndedFrame                   // a provider's process has ended; payload: a text that describes how
	endedFrame                       // the answer to endFrame: the keeper has ended the provider
	doneFrame                        // the answer to byeFrame; payload: addresses of the leases that are still open, as JSON
)

// maxPayload is the maximum size of a payload: a message of a provider, and a note (see request) that is at most three
// times as long.
const maxPayload = 4 * wire.MaxMessage

// checkFrame returns an error if the payload of a frame is longer than maxPayload, or shorter than the minimum of its
// kind.
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

// unknownFrame returns the error for a frame of a kind that the receiver does not expect.
func unknownFrame(k kind) error { return fmt.Errorf("a frame has the kind %d", k) }

// request is an encoded call. Its parts are: number of the provider (4 bytes), number in the journal (8), length of the
// method (1), length of the note (4), method, note, and the provider's request. The note contains data for the call's
// journal record, which the keeper writes if the engine crashes.
type request struct {
	provider uint32
	op       journal.Op
	method   string
	note     []byte
	body     []byte
}

const requestHead = 4 + 8 + 1 + 4

// head returns the encoded parts before the note. note is the length of the note.
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

// room is the maximum number of bytes of one stream that the keeper has sent and the caller has not taken. At this
// limit, the keeper reads no further answer, so the provider waits. A single answer may be longer.
const room = 1 << 20

// link is one end of the connection between engine and keeper. Its methods may be called concurrently. While a
// goroutine writes to the connection, others only queue their frames, and the writing goroutine writes these frames,
// too.
type link struct {
	conn io.ReadWriteCloser

	mu          sync.Mutex
	full        net.Buffers // bytes to write before out: long parts without a copy, and the bytes between these parts
	out, buffer []byte
	writing     bool
	held        bool // out contains a secret, which sendSecrets must send
	err         error
}

// long is the size, in bytes, from which a part of a frame is not copied.
const long = 64 << 10

// send sends a frame. The caller must not change the parts afterwards. If sending fails, receive returns, too, and the
// caller of receive handles the failure.
func (l *link) send(k kind, number uint32, parts ...[]byte) {
	l.queue(k, number, parts...)
	runtime.Gosched() // other goroutines may queue frames, which are sent together
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

// queue adds a frame without sending it. The next send sends it, too.
func (l *link) queue(k kind, number uint32, parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, number, parts)
}

// queueSecret adds a secret without sending it. The next send or sendSecrets sends it.
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

// flush writes all queued bytes (full and out), unless another goroutine is writing. The caller must hold l.mu. flush
// releases it while it writes.
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

// receive calls the function for each frame of the other side. It returns nil when the connection has ended or broken.
// It returns an error for an invalid frame, and the error of the function. The function may keep the payload.
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

// read reads a payload of size bytes. The parameter most is the maximum size of the first allocation. Each later
// allocation at most doubles the number of bytes that were received.
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
