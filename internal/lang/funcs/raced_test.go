//go:build race

package funcs

// raced says that the race detector looks on, which allocates objects of its own.
const raced = true
