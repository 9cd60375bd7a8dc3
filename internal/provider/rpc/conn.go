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

// Conn is a connection to a server. It may be used from many goroutines.
type Conn struct {
	net    net.Conn
	secure bool
	max    int // bytes that no message may exceed

	mu          sync.Mutex
	changed     sync.Cond // windows, the number of streams, or err
	err         error     // why no call can be made any more; calls in progress have failed
	leaving     error     // why no call can be made any more; calls in progress may still be answered
	streams     map[uint32]*stream
	next        uint32            // id of the next stream
	heads       map[string][]byte // the encoded headers of a request, by method
	out, buffer []byte            // to be written; a buffer to fill meanwhile
	writing     bool              // a caller is writing, and will also write the content of out
	window      int64             // bytes of messages that the server still takes
	initial     int64             // the same for a stream, at first
	frame       int               // the longest frame that the server takes
	most        uint32            // streams at a time; 0 before the server has introduced itself

	// The reader's own.
	decoder *hpack.Decoder
	fields  fields
	got     uint32 // bytes of messages since the server was last allowed to go on
}

// Our side of flow control. The connection accepts any amount: it is extended whenever half of this is used. A stream
// accepts room bytes, and more by allow.
const window = math.MaxInt32

// room is the number of bytes of a stream that a server may send before the caller reads them. A longer message may
// come whole, one at a time.
const room = 1 << 20

// fail ends everything. The caller holds the lock.
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

// brim is how much may wait to be written before those who send long messages wait as well: no message is copied as a
// whole.
const brim = 256 << 10

// flush writes the content of out, unless another caller does already. The caller holds the lock; it is not held while
// writing.
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

// stream is one call in progress. The connection's lock guards its fields while it is in streams; afterwards it belongs
// to the caller.
type stream struct {
	window   int64         // bytes that the server still takes
	answer   []byte        // the received part of the message, with its prefix
	answered bool          // the message is whole
	takes    int64         // bytes that the server may still send
	many     bool          // there may be any number of answers
	hear     func([]byte)  // gets each of many answers; if nil, they are queued
	queue    [][]byte      // answers that the caller has not taken
	queued   int64         // bytes of them, with their prefixes
	done     chan struct{} // has an element when the call has ended
	ended    bool
	err      error // the result
	request  []byte
	more     [][]byte // of the request: the parts that were not copied
}

var streams = sync.Pool{New: func() any { return &stream{done: make(chan struct{}, 1)} }}

// long is a buffer that is left to the collector instead of being used again.
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

// end lets the caller go on. The caller of end holds the lock.
func (s *stream) end(err error) {
	if !s.ended {
		s.ended, s.err = true, err
		s.done <- struct{}{}
	}
}

// fields are those header fields of one block that mean something here.
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

// Go runs f in a goroutine. An error or a panic of f ends the connection; a panic becomes a *diag.Bug. All callers get
// the error, and the program continues.
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

// appendHead begins a frame of n bytes.
func appendHead(b []byte, n int, t http2.FrameType, f http2.Flags, id uint32) []byte {
	return append(b, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(f), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendSetting(b []byte, id http2.SettingID, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(id)), v)
}

// appendUpdate lets the server send n bytes more, of a stream, or of all if id is 0.
func appendUpdate(b []byte, id, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, http2.FrameWindowUpdate, 0, id), n)
}

// head is the header block of a call of a method: literals that no table remembers (RFC 7541,
// section 6.2.2), so that it is the same for every call, with names from the static table where
// it has them.
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

// appendText appends a string in HPACK's form without Huffman coding: its length in seven bits, and a longer length in
// groups of seven bits, the lowest first.
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
