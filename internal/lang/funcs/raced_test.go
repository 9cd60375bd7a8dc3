//go:build race

package funcs

// raced is true if the race detector is active. The detector allocates objects itself.
const raced = true
