package keeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
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
	startFrame  kind = iota + 1 // a provider: a program as JSON
	callFrame                   // a call: number of the provider (4), length of the method (1), method, request
	cancelFrame                 // a call is not waited for any more
	endFrame                    // a provider
	byeFrame                    // all is done: whatever is open is to be closed
)

// What the keeper says.
const (
	startedFrame kind = iota + 101 // a provider: outcome as JSON
	answerFrame                    // a call: code (1), then the answer, or why there is none
	lineFrame                      // a provider wrote a line: its level (1), the line
	goneFrame                      // a provider's process has ended: how
	endedFrame                     // the answer to endFrame
	doneFrame                      // the answer to byeFrame, and the last word
)

// link is one end of the socket pair. It may be written to from many goroutines: each writes what others want to
// have written, too, while they wait for nothing.
type link struct {
	conn net.Conn

	mu         sync.Mutex
	out, spare []byte
	writing    bool
	err        error
}

// send sends a frame. What cannot be sent is of no use to anybody: reading ends, too, and that is where it is noticed.
func (l *link) send(k kind, number uint32, parts ...[]byte) {
	size := headSize - 4
	for _, p := range parts {
		size += len(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = binary.LittleEndian.AppendUint32(l.out, uint32(size))
	l.out = append(l.out, byte(k))
	l.out = binary.LittleEndian.AppendUint32(l.out, number)
	for _, p := range parts {
		l.out = append(l.out, p...)
	}
	if l.writing {
		return
	}
	l.writing = true
	for len(l.out) > 0 && l.err == nil {
		b := l.out
		l.out = l.spare[:0]
		l.mu.Unlock()
		_, err := l.conn.Write(b)
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
