// Package diff compares two values for the text views of plans and states.
//
// First, each value is converted to a Value: text, numbers, sequences and dicts (objects and maps), with the sensitive
// parts marked. A Form describes the part of a schema that affects the look of a value. A Differ compares two Values
// and returns a tree of Nodes, which package view renders. JSON inside strings is decoded and compared in the same way.
// Lists are matched by their longest common subsequence up to a size, and above it in nearly linear time (Align).
//
// The package decides no layout, writes no text to a terminal and does not modify its arguments. Values, Forms and
// Nodes do not change after they have been built, so several goroutines may read them. A Differ has only settings. Only
// one goroutine may use a Forms value, because it has a cache.
//
// Files are in layers, each above the files that it uses:
//
//	block.go    blocks and objects
//	diff.go     values
//	align.go    matching of lists and sets
//	value.go    values as documents, sets of paths
//	form.go     schemas
package diff
