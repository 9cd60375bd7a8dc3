package walk

import "slices"

// Rows are lists that are stored in one array. List i is items[start[i]:start[i+1]]; i begins at 0.
type Rows[T any] struct {
	start []int32
	items []T
}

// Sorted makes n lists from the elements of list and keeps their order. row returns the number of the list that gets an
// element, and item returns the item that is put there.
func Sorted[A, T any](n int, list []A, row func(A) int32, item func(A) T) Rows[T] {
	r := Rows[T]{make([]int32, n+1), make([]T, len(list))}
	for _, x := range list {
		r.start[row(x)]++
	}
	pileUp(r.start)
	for _, x := range slices.Backward(list) {
		i := row(x)
		r.start[i]--
		r.items[r.start[i]] = item(x)
	}
	return r
}

// pileUp replaces each count by the sum of this count and all counts before it.
func pileUp(counts []int32) {
	var sum int32
	for i, c := range counts {
		sum += c
		counts[i] = sum
	}
}

// Of returns list i, counted from 0.
func (r Rows[T]) Of(i int32) []T { return r.items[r.start[i]:r.start[i+1]] }

// All returns the items of all lists.
func (r Rows[T]) All() []T { return r.items }

// Len returns the number of lists.
func (r Rows[T]) Len() int { return max(len(r.start)-1, 0) }

// Topological returns the numbers in an order in which each number comes after its predecessors. List n of in has the
// predecessors of the number n. List n of out has an element e for each successor of n, whose number is to(e). Numbers
// on a cycle, and numbers that come after a cycle, are missing.
func Topological[T any](in, out Rows[T], to func(T) int32) []int32 {
	n := in.Len()
	left := make([]int, n)
	done := make([]int32, 0, n)
	for i := range left {
		if left[i] = len(in.Of(int32(i))); left[i] == 0 {
			done = append(done, int32(i))
		}
	}
	for i := 0; i < len(done); i++ {
		for _, x := range out.Of(done[i]) {
			if left[to(x)]--; left[to(x)] == 0 {
				done = append(done, to(x))
			}
		}
	}
	return done
}
