//go:build race

package cli_test

// raced is true if the race detector is active, which uses additional memory and time.
const raced = true
