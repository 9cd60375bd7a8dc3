package rpc

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// appendHead begins a frame of n bytes.
func appendHead(b []byte, n int, t http2.FrameType, f http2.Flags, id uint32) []byte {
	return append(b, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(f), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendSetting(b []byte, id http2.SettingID, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(id)), v)
}

// appendUpdate lets the server send n bytes more.
func appendUpdate(b []byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, http2.FrameWindowUpdate, 0, 0), n)
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

// appendText appends a string as HPACK has it, without Huffman's code: its length in seven bits,
// and what does not fit there in groups of seven, the lowest first.
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
