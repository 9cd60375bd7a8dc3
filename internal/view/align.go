package view

import "slices"

// Matching two sequences: which elements stayed, which went, which are new.
//
// The rule is that of Terraform and OpenTofu. If both have the same length and something of the first is nowhere in
// the second, elements are matched by their place: a list of the same length was probably edited
// in place. Otherwise a longest common subsequence stays, and between its members what was there
// goes and what is there now comes; where both sides have objects, an object that goes and one
// that comes are shown as one that changes.
//
// A longest common subsequence costs the product of the lengths. Above a limit, equal ends are
// taken off first; and if what is left is still too long, only elements that occur once on both
// sides are matched, by the longest run of them that keeps its order (patience diff), which costs
// n log n.

// pair is a match: indexes into both sequences, -1 where there is no partner.
type pair struct{ b, a int }

// alignLimit is how many cells the table of a longest common subsequence may have.
const alignLimit = 1 << 21

// align matches two sequences.
func align(b, a []*docValue) []pair {
	bc, ac := classes(b, a)
	var pairs []pair
	if len(b) == len(a) && lost(bc, ac) {
		for i := range b {
			pairs = append(pairs, pair{i, i})
		}
		return pairs
	}
	bi, ai := 0, 0
	upTo := func(stays func(class int) bool) {
		for bi < len(b) && !stays(bc[bi]) {
			if b[bi].isDict() && ai < len(a) && !stays(ac[ai]) && a[ai].isDict() {
				pairs = append(pairs, pair{bi, ai})
				ai++
			} else {
				pairs = append(pairs, pair{bi, -1})
			}
			bi++
		}
		for ; ai < len(a) && !stays(ac[ai]); ai++ {
			pairs = append(pairs, pair{-1, ai})
		}
	}
	for _, common := range subsequence(bc, ac) {
		upTo(func(class int) bool { return class == common })
		pairs = append(pairs, pair{bi, ai})
		bi, ai = bi+1, ai+1
	}
	upTo(func(int) bool { return false })
	return pairs
}

// lost reports whether a class of the first sequence is not in the second.
func lost(b, a []int) bool {
	have := make(map[int]bool, len(a))
	for _, c := range a {
		have[c] = true
	}
	return slices.ContainsFunc(b, func(c int) bool { return !have[c] })
}

// subsequence gives the classes of a longest common subsequence, or of a long one if the sequences
// are too long for that.
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

// longest is the textbook table.
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

// patience finds a long increasing run among the elements that occur once on both sides.
func patience(b, a []int) []int {
	places := map[int]int{} // class → index in a; -1: not unique
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
	type link struct{ at, class, back int } // of one candidate, with the one before it in its run
	var links []link
	var ends []int // ends[n] is the link that ends the run of n+1 with the lowest place
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

// classes numbers the elements of two sequences by what they equal.
func classes(b, a []*docValue) ([]int, []int) {
	table := map[string]int{}
	next := 0
	var key []byte
	number := func(vs []*docValue) []int {
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
