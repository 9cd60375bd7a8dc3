package rpc

import (
	"encoding/binary"
	"math"
	"net"
	"sync"

	"github.com/lethe-iac/lethe/internal/diag"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Conn is a connection to a gRPC server over HTTP/2. Its methods may be called concurrently.
type Conn struct {
	net    net.Conn
	secure bool
	max    int // maximum length of a message in bytes

	mu          sync.Mutex
	changed     sync.Cond // signals a change of windows, of the number of streams, or of err
	err         error     // error of all further calls; running calls have failed
	leaving     error     // error of new calls; running calls may still be answered
	streams     map[uint32]*stream
	next        uint32            // id of the next stream
	heads       map[string][]byte // encoded headers of a request, by method
	out, buffer []byte            // out has the bytes to write next; buffer is a buffer that was written, and that becomes the next out
	writing     bool              // a goroutine is writing; it also writes the content of out
	window      int64             // number of bytes of messages that the server still accepts on the connection (its flow-control window)
	initial     int64             // window of a new stream in bytes
	frame       int               // maximum length of a frame that the server accepts
	most        uint32            // maximum number of concurrent streams; 0 before the server's settings

	// Only the goroutine that reads from the connection uses the following fields.
	decoder *hpack.Decoder
	fields  fields
	got     uint32 // bytes of messages since the last update of the connection's window
}

// window is the number of bytes that the server may send on the connection (flow control). When half of it is used, the
// client extends it, so it limits nothing. A stream has a smaller window: room bytes, extended by allow.
const window = math.MaxInt32

// room is the number of bytes of a stream that a server may send before the caller takes them. A longer message is
// accepted, but only one at a time.
const room = 1 << 20

// fail ends the connection, and ends all its calls with the error err. The caller must hold c.mu.
func (c *Conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.net.Close()
	for id, s := range c.streams {
		s.end(err)
		delete(c.streams, id)
	}
	c.changed.Broadcast()
}

// brim is the number of buffered bytes at which senders of long messages wait for a write, so that no long message is
// copied as a whole.
const brim = 256 << 10

// flush writes the content of out, unless another goroutine is writing; that goroutine then writes it. The caller must
// hold c.mu. flush releases c.mu while it writes. If a write fails, the connection and its calls fail.
func (c *Conn) flush() {
	if c.writing {
		return
	}
	c.writing = true
	for len(c.out) > 0 && c.err == nil {
		b := c.out
		c.out = c.buffer[:0]
		if len(b) >= brim {
			c.changed.Broadcast()
		}
		c.mu.Unlock()
		_, err := c.net.Write(b)
		c.mu.Lock()
		if c.buffer = b[:0]; cap(b) > 1<<20 {
			c.buffer = nil
		}
		if err != nil {
			c.fail(status.Errorf(codes.Unavailable, "error writing to server: %v", err))
		}
	}
	c.writing = false
}

// stream is a running call. While the stream is in Conn.streams, the connection's lock guards its fields. After that,
// only the caller of the call uses it.
type stream struct {
	window   int64         // number of bytes that the server still accepts on this stream
	answer   []byte        // the part of the current message that was received, with its prefix
	answered bool          // the answer is complete
	takes    int64         // number of bytes that the server may still send on this stream
	many     bool          // the call may have several answers
	hear     func([]byte)  // called with each of several answers; nil: the answers are queued
	queue    [][]byte      // answers that the caller has not taken
	queued   int64         // length of queue in bytes, with prefixes
	done     chan struct{} // has an element when the call has ended
	ended    bool
	err      error // the result of the call; nil: success
	request  []byte
	more     [][]byte // parts of the request that are sent without a copy
}

var streams = sync.Pool{New: func() any { return &stream{done: make(chan struct{}, 1)} }}

// long is the length, in bytes, from which a buffer is not reused.
const long = 64 << 10

// free returns an ended stream to the pool.
func (s *stream) free() {
	if cap(s.answer) > long {
		s.answer = nil
	}
	if cap(s.request) > long {
		s.request = nil
	}
	*s = stream{answer: s.answer[:0], request: s.request[:0], done: s.done}
	streams.Put(s)
}

// end ends a call with err (nil: success), and wakes its caller. The caller of end must hold the connection's lock.
func (s *stream) end(err error) {
	if !s.ended {
		s.ended, s.err = true, err
		s.done <- struct{}{}
	}
}

// fields has the header fields of one header block that this package uses.
type fields struct {
	http    string // :status
	code    string // grpc-status
	message string // grpc-message
}

func (f *fields) add(h hpack.HeaderField) {
	switch h.Name {
	case ":status":
		f.http = h.Value
	case "grpc-status":
		f.code = h.Value
	case "grpc-message":
		f.message = h.Value
	}
}

// Go runs f in a goroutine. An error or a panic of f ends the connection with an error, which all callers get. A panic
// becomes a *diag.Bug, and the program continues.
func (c *Conn) Go(f func() error) {
	go func() {
		if err := safely(f); err != nil {
			c.mu.Lock()
			c.fail(err)
			c.mu.Unlock()
		}
	}()
}

func safely(f func() error) (err error) {
	defer diag.Caught(&err)
	return f()
}

// appendHead appends the header of an HTTP/2 frame whose content has n bytes.
func appendHead(b []byte, n int, t http2.FrameType, f http2.Flags, id uint32) []byte {
	return append(b, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(f), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendSetting(b []byte, id http2.SettingID, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(id)), v)
}

// appendUpdate appends a frame that permits the server to send n more bytes: on the stream id, or on the connection if
// id is 0.
func appendUpdate(b []byte, id, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, http2.FrameWindowUpdate, 0, id), n)
}

// head returns the encoded header block of a call of a method. It consists of literals that are not indexed (RFC 7541,
// section 6.2.2), so it is the same for every call of the method. It uses header names from HPACK's static table where
// possible.
func (c *Conn) head(method string) []byte {
	if h := c.heads[method]; h != nil {
		return h
	}
	const (
		authority   = 1
		post        = 3
		path        = 4
		http, https = 6, 7
		contentType = 31
	)
	scheme := byte(http)
	if c.secure {
		scheme = https
	}
	h := []byte{0x80 | post, 0x80 | scheme}
	h = appendText(append(h, path), method)
	h = appendText(append(h, authority), "localhost")
	h = appendText(append(h, 0x0f, contentType-0x0f), "application/grpc")
	h = appendText(appendText(append(h, 0), "te"), "trailers")
	c.heads[method] = h
	return h
}

// appendText appends a string in HPACK's form without Huffman coding: the length, and then the string. A length below
// 127 takes seven bits. For a longer length, 127 is followed by the rest in groups of seven bits, the lowest group
// first.
func appendText(b []byte, s string) []byte {
	n := len(s)
	if n < 0x7f {
		b = append(b, byte(n))
	} else {
		b = append(b, 0x7f)
		for n -= 0x7f; n >= 0x80; n >>= 7 {
			b = append(b, 0x80|byte(n))
		}
		b = append(b, byte(n))
	}
	return append(b, s...)
}
