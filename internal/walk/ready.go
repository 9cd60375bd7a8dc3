package walk

import "math/bits"

// ready is the set of the nodes that can run now. Each node is represented by its rank: its place in the order in which
// ready nodes run. The set is a tree of words with 64 bits. A bit of the first level is a rank. A bit of another level
// tells whether a word of the previous level has a bit. A set for up to 64 nodes has one level, and each further level
// permits 64 times as many nodes. Adding or removing a rank changes at most one word on each level.
type ready struct {
	levels [][]uint64 // the last level is a single word
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

// first returns the lowest rank in the set, which must not be empty.
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
