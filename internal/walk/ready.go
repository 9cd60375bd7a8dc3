package walk

import "math/bits"

// ready is the set of nodes that could run now, by rank. It is a tree of bit sets, 64 wide: adding
// a rank and taking the lowest one touch one word on each of its three or four levels.
type ready struct {
	levels [][]uint64 // the last one is a single word
	count  int
}

func newReady(n int) ready {
	var r ready
	for {
		n = (n + 63) / 64
		r.levels = append(r.levels, make([]uint64, max(n, 1)))
		if n <= 1 {
			return r
		}
	}
}

func (r *ready) add(rank uint32) {
	r.count++
	for _, level := range r.levels {
		level[rank/64] |= 1 << (rank % 64)
		rank /= 64
	}
}

// first is the lowest rank in the set, which must not be empty.
func (r *ready) first() uint32 {
	var at uint32
	for i := len(r.levels) - 1; i >= 0; i-- {
		at = at*64 + uint32(bits.TrailingZeros64(r.levels[i][at]))
	}
	return at
}

func (r *ready) remove(rank uint32) {
	r.count--
	for _, level := range r.levels {
		level[rank/64] &^= 1 << (rank % 64)
		if level[rank/64] != 0 {
			return
		}
		rank /= 64
	}
}
