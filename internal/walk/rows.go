package walk

import "slices"

// Rows are lists by number, from 0, that are fast to go through: each is one stretch of an array.
type Rows[T any] struct {
	start []int32
	items []T
}

// Sorted makes n lists of what item makes of everything in a list, in its order: row says which list it is for.
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

// pileUp turns counts into the ends of stretches.
func pileUp(counts []int32) {
	var sum int32
	for i, c := range counts {
		sum += c
		counts[i] = sum
	}
}

// Of is the list of a number.
func (r Rows[T]) Of(i int32) []T { return r.items[r.start[i]:r.start[i+1]] }

// All are the items of all lists.
func (r Rows[T]) All() []T { return r.items }

// Len is how many lists there are.
func (r Rows[T]) Len() int { return max(len(r.start)-1, 0) }

// Topological lists the numbers so that each stands after all that lead to it: in has what leads to a number, out
// what it leads to. Numbers on a cycle, and what they lead to, are missing.
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
