package pluginstore

import (
	"fmt"
	"iter"
)

// The sizes of chunks and states, in bytes.
const (
	proposedChunk = 8 << 20
	mostChunk     = 128 << 20 // the maximum size of a message is 256 MiB
	mostState     = 1 << 30
)

// Chunk is a range of the bytes of a state, or an announcement of the state's length.
type Chunk struct {
	Bytes      []byte
	Total      int64 // the length of the whole state, in bytes
	Start, End int64 // the positions of the first and the last byte of the chunk in the state
}

// chunks divides a state into chunks of size bytes. The last chunk may be shorter.
func chunks(data []byte, size int64) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		total := int64(len(data))
		for start := int64(0); start < total; start += size {
			end := min(start+size, total)
			if !yield(Chunk{data[start:end], total, start, end - 1}) {
				return
			}
		}
	}
}

// assembly builds a state from its chunks.
type assembly struct {
	chunk int64 // the maximum size of a chunk, in bytes
	data  []byte
	total int64
}

// add appends a chunk. It returns an error if the chunk does not continue the state, or exceeds a limit. A chunk
// without bytes only carries diagnostics, or announces the length of a state. After such an announcement bytes must
// follow, because an answer without bytes means that no state exists.
func (a *assembly) add(c Chunk) error {
	n, at := int64(len(c.Bytes)), int64(len(a.data))
	switch {
	case n == 0 && c.Total == 0:
		return nil
	case n > a.chunk:
		return fmt.Errorf("it sent a chunk of %d bytes, and the size of a chunk is %d", n, a.chunk)
	case c.Total > mostState:
		return fmt.Errorf("it announced a state of %d bytes, and the limit is %d", c.Total, mostState)
	case a.total != 0 && c.Total != a.total:
		return fmt.Errorf("it announced a state of %d bytes, and then of %d bytes", a.total, c.Total)
	case n == 0 && c.Total > 0:
		a.total = c.Total
		return nil
	case c.Start != at:
		return fmt.Errorf("it sent the chunk at position %d, and the chunk at position %d was due", c.Start, at)
	case c.End != c.Start+n-1:
		return fmt.Errorf("it sent a chunk of %d bytes for the positions %d to %d", n, c.Start, c.End)
	case at+n > c.Total:
		return fmt.Errorf("it sent more than the announced %d bytes", c.Total)
	}
	if at == 0 {
		a.total, a.data = c.Total, make([]byte, 0, min(c.Total, proposedChunk))
	}
	a.data = append(a.data, c.Bytes...)
	return nil
}

// complete returns an error if fewer bytes were added than the chunks announced.
func (a *assembly) complete() error {
	if n := int64(len(a.data)); n != a.total {
		return fmt.Errorf("it sent %d of the announced %d bytes", n, a.total)
	}
	return nil
}
