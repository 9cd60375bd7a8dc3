//go:build race

package cli_test

// raced says that the race detector looks on, which allocates memory of its own.
const raced = true
