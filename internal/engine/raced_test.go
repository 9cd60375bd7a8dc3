//go:build race

package engine

// raced is true if the race detector runs, which allocates additional objects.
const raced = true
