package diff

import "slices"

// This file matches two sequences: it determines which elements are unchanged, removed or new.
//
// Terraform and OpenTofu have the same rule. If both sequences have the same length, and some element of the first is
// missing in the second, elements are matched by their position: the list was probably edited in place. Otherwise the
// elements of a longest common subsequence are unchanged. Between them the old elements are removed and the new
// elements are added. A removed object and an added object between the same elements count as one changed object.
//
// The time for a longest common subsequence is proportional to the product of the lengths. Above a limit, equal ends
// are removed first. If the rest is still too long, only elements that occur once on both sides are matched, by their
// longest run in the same order (patience diff), in n log n.

// Pair holds the indexes of matching elements in both sequences. An index is -1 if the other element has no match.
type Pair struct{ Before, After int }

// alignLimit is the maximum number of cells in the table of a longest common subsequence.
const alignLimit = 1 << 21

// Align matches the elements of two sequences, b (before) and a (after). It returns the pairs in the order of both
// sequences.
func Align(b, a []*Value) []Pair {
	bc, ac := classes(b, a)
	var pairs []Pair
	if len(b) == len(a) && missesAny(bc, ac) {
		for i := range b {
			pairs = append(pairs, Pair{i, i})
		}
		return pairs
	}
	bi, ai := 0, 0
	upTo := func(stays func(class int) bool) {
		for bi < len(b) && !stays(bc[bi]) {
			if b[bi].IsDict() && ai < len(a) && !stays(ac[ai]) && a[ai].IsDict() {
				pairs = append(pairs, Pair{bi, ai})
				ai++
			} else {
				pairs = append(pairs, Pair{bi, -1})
			}
			bi++
		}
		for ; ai < len(a) && !stays(ac[ai]); ai++ {
			pairs = append(pairs, Pair{-1, ai})
		}
	}
	for _, common := range subsequence(bc, ac) {
		upTo(func(class int) bool { return class == common })
		pairs = append(pairs, Pair{bi, ai})
		bi, ai = bi+1, ai+1
	}
	upTo(func(int) bool { return false })
	return pairs
}

// missesAny reports whether a class (a number that equal elements share, see classes) of the sequence b is missing in
// the sequence a.
func missesAny(b, a []int) bool {
	have := make(map[int]bool, len(a))
	for _, c := range a {
		have[c] = true
	}
	return slices.ContainsFunc(b, func(c int) bool { return !have[c] })
}

// subsequence returns a longest common subsequence, as classes (see classes). If the product of the lengths exceeds
// alignLimit, it returns a common subsequence that may be shorter.
func subsequence(b, a []int) []int {
	if len(b)*len(a) <= alignLimit {
		return longest(b, a)
	}
	head := 0
	for head < len(b) && head < len(a) && b[head] == a[head] {
		head++
	}
	tail := 0
	for tail < len(b)-head && tail < len(a)-head && b[len(b)-1-tail] == a[len(a)-1-tail] {
		tail++
	}
	midB, midA := b[head:len(b)-tail], a[head:len(a)-tail]
	out := append([]int(nil), b[:head]...)
	if len(midB)*len(midA) <= alignLimit {
		out = append(out, longest(midB, midA)...)
	} else {
		out = append(out, patience(midB, midA)...)
	}
	return append(out, b[len(b)-tail:]...)
}

// longest returns a longest common subsequence, by dynamic programming with a table.
func longest(b, a []int) []int {
	if len(b) == 0 || len(a) == 0 {
		return nil
	}
	width := len(a) + 1
	table := make([]int32, (len(b)+1)*width)
	for i := range b {
		row, above := table[(i+1)*width:], table[i*width:]
		for j := range a {
			switch {
			case b[i] == a[j]:
				row[j+1] = above[j] + 1
			default:
				row[j+1] = max(above[j+1], row[j])
			}
		}
	}
	out := make([]int, table[len(table)-1])
	for i, j, n := len(b), len(a), len(out); n > 0; {
		switch {
		case b[i-1] == a[j-1]:
			n--
			i, j = i-1, j-1
			out[n] = b[i]
		case table[(i-1)*width+j] > table[i*width+j-1]:
			i--
		default:
			j--
		}
	}
	return out
}

// patience returns a longest common subsequence of the elements that occur only once in each sequence.
func patience(b, a []int) []int {
	places := map[int]int{} // class → index in a; -1: the class occurs more than once
	for i, c := range a {
		if _, again := places[c]; again {
			i = -1
		}
		places[c] = i
	}
	seen := map[int]int{}
	for _, c := range b {
		seen[c]++
	}
	type link struct{ at, class, back int } // an element of a common subsequence; back is the index of the element before it in links
	var links []link
	var ends []int // ends[n] is the last link of the subsequence with n+1 elements whose last index in a is the lowest
	for _, c := range b {
		at, ok := places[c]
		if !ok || at < 0 || seen[c] > 1 {
			continue
		}
		lo, _ := slices.BinarySearchFunc(ends, at, func(end, at int) int { return links[end].at - at })
		back := -1
		if lo > 0 {
			back = ends[lo-1]
		}
		links = append(links, link{at, c, back})
		if lo == len(ends) {
			ends = append(ends, 0)
		}
		ends[lo] = len(links) - 1
	}
	out := make([]int, len(ends))
	if len(ends) > 0 {
		for i, n := ends[len(ends)-1], len(ends)-1; n >= 0; i, n = links[i].back, n-1 {
			out[n] = links[i].class
		}
	}
	return out
}

// classes returns a number for each element of two sequences. Equal elements have equal numbers. An element with an
// unknown part is equal to no other element.
func classes(b, a []*Value) ([]int, []int) {
	table := map[string]int{}
	next := 0
	var key []byte
	number := func(vs []*Value) []int {
		out := make([]int, len(vs))
		for i, v := range vs {
			key = v.appendKey(key[:0])
			class, known := table[string(key)]
			if !known || v.unknownInside() {
				class = next
				next++
				table[string(key)] = class
			}
			out[i] = class
		}
		return out
	}
	return number(b), number(a)
}
