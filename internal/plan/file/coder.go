package file

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// coder writes or reads the body of a plan. Every part of the format is described once, by a
// method that is given a pointer: when writing it looks at what is there, when reading it fills it
// in. What is written is given in copies, for a plan may be shown while it is saved. After an error
// what is written or read does not matter any more.
//
// Numbers are varints; a string or list is its length and its contents, with one added to the
// length where none must be told from empty; a map is a list of pairs in order of their keys.
type coder struct {
	reading bool
	out     []byte
	in      []byte
	err     error
	about   fmt.Stringer // what is being written, for errors
	types   typeTable
}

var errShort = errors.New("it ends too early")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
		c.in = nil
	}
}

func (c *coder) uint(p *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *p)
		return
	}
	n, size := binary.Uvarint(c.in)
	if size <= 0 {
		c.fail(errShort)
		*p = 0
		return
	}
	*p, c.in = n, c.in[size:]
}

func (c *coder) int(p *int64) {
	n := uint64(*p)<<1 ^ uint64(*p>>63) // small numbers of either sign are short
	c.uint(&n)
	*p = int64(n>>1) ^ -int64(n&1)
}

// count is the length of something whose parts take at least one byte each.
func (c *coder) count(n int) int {
	u := uint64(n)
	c.uint(&u)
	if c.reading && u > uint64(len(c.in)) {
		c.fail(errShort)
		return 0
	}
	return int(u)
}

// optional is the length of something that may be missing, which is -1.
func (c *coder) optional(n int) int {
	u := uint64(n + 1)
	c.uint(&u)
	if c.reading && u > uint64(len(c.in))+1 {
		c.fail(errShort)
		return -1
	}
	return int(u) - 1
}

func (c *coder) flag(p *bool) {
	var n uint64
	if *p {
		n = 1
	}
	c.uint(&n)
	*p = n == 1
	if n > 1 {
		c.fail(errors.New("a flag is neither yes nor no"))
	}
}

// enum is a number up to most.
func enum[T ~uint8](c *coder, p *T, most T) {
	n := uint64(*p)
	c.uint(&n)
	if n > uint64(most) {
		c.fail(fmt.Errorf("%d is not among what is known of %T", n, *p))
		n = 0
	}
	*p = T(n)
}

func (c *coder) take(n int) []byte {
	if n > len(c.in) {
		c.fail(errShort)
		return nil
	}
	b := c.in[:n:n]
	c.in = c.in[n:]
	return b
}

func text[T ~string](c *coder, p *T) {
	n := c.count(len(*p))
	if !c.reading {
		c.out = append(c.out, *p...)
		return
	}
	*p = T(c.take(n))
}

func (c *coder) bytes(p *[]byte) {
	n := -1
	if *p != nil {
		n = len(*p)
	}
	n = c.optional(n)
	switch {
	case !c.reading:
		c.out = append(c.out, *p...)
	case n < 0:
		*p = nil
	default:
		*p = c.take(n)
	}
}

// list is a list that may be missing.
func list[T any](c *coder, p *[]T, item func(*T)) {
	n := -1
	if *p != nil {
		n = len(*p)
	}
	n = c.optional(n)
	if !c.reading {
		for _, x := range *p { // of each a copy, because an item may be written to
			item(&x)
		}
		return
	}
	*p = nil
	if n >= 0 {
		*p = make([]T, 0, min(n, 1024)) // it grows as far as there is something to read
	}
	for i := 0; i < n && c.err == nil; i++ {
		var x T
		item(&x)
		*p = append(*p, x)
	}
}

// table is a map that may be missing.
func table[K comparable, V any](c *coder, p *map[K]V, compare func(a, b K) int, key func(*K), value func(*V)) {
	type pair struct {
		k K
		v V
	}
	var pairs []pair
	if *p != nil {
		pairs = make([]pair, 0, len(*p))
		for _, k := range slices.SortedFunc(maps.Keys(*p), compare) {
			pairs = append(pairs, pair{k, (*p)[k]})
		}
	}
	list(c, &pairs, func(x *pair) {
		key(&x.k)
		value(&x.v)
	})
	if !c.reading || pairs == nil {
		return
	}
	*p = make(map[K]V, len(pairs))
	for _, x := range pairs {
		(*p)[x.k] = x.v
	}
}

// texts is a table by strings.
func texts[V any](c *coder, p *map[string]V, value func(*V)) {
	table(c, p, cmp.Compare, func(k *string) { text(c, k) }, value)
}

// pointer is a thing that is there.
func pointer[T any](c *coder, p **T, f func(*T)) {
	var x T
	if !c.reading {
		x = **p
	} else {
		*p = &x
	}
	f(&x)
}

// maybe is a thing that may be missing.
func maybe[T any](c *coder, p **T, f func(*T)) {
	there := *p != nil
	c.flag(&there)
	if !there {
		*p = nil
		return
	}
	pointer(c, p, f)
}
