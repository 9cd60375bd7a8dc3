// Package rewrite edits configurations so that the state stores a secret no longer.
//
// A Draft holds the texts of a configuration in memory. Each of its methods makes one move: it analyses the present texts,
// and either replaces some of them or refuses and leaves all unchanged. The caller loads the texts, plans with them, and
// writes them.
//
// Edits replace ranges of the source, so that comments and the layout of other lines stay. A file in the canonical style
// is formatted with hclwrite after each edit. Other files keep their style.
//
//	writeonly.go, version.go   a stored argument becomes a write-only argument, with its version
//	generator.go               the value of a generator is read from a secret manager
//	sources.go                 variables and data sources that feed only such uses become ephemeral
//	permits.go                 whether each use of a value accepts an ephemeral value
//	uses.go                    the references of a module, and the place of each
//	edits.go, difference.go    edits of texts, and their differences
//	known.go                   defects of providers, generators, arguments of readers
//	draft.go                   Draft: modules and their files
package rewrite
