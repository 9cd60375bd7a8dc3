//go:build !race

package funcs

const raced = false
