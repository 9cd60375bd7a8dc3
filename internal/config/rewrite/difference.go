package rewrite

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Difference returns the difference between two texts of a file, in the format of diff -u.
func Difference(name string, old, new []byte) string {
	_, text, _ := strings.Cut(string(diff.Diff(name, old, name, new)), "\n")
	return text
}
