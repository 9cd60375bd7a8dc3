// Package rewrite edits configurations so that the state no longer stores a secret.
//
// A Draft holds the texts of a configuration in memory. The methods WriteOnly, Generator, Data and Variable each make
// one move: a set of edits after which one value is no longer stored. A move analyses the present texts. It either
// edits some of them, or returns the reason why it refuses and leaves all texts unchanged. The caller loads the texts,
// plans with them, and writes them.
//
// An edit replaces a range of the source, so comments and the layout of other lines stay. In a file in the canonical
// style, hclwrite formats the edited part. Other files keep their style, and all files keep their line ends. A part is
// one top-level block, so the time for many edits is linear.
//
//	writeonly.go, version.go   a stored argument becomes a write-only argument, with its version
//	generator.go               the value of a generator is read from a secret manager
//	sources.go                 variables and data sources become ephemeral if all their uses permit it
//	permits.go                 whether each use of a value accepts an ephemeral value
//	reads.go                   whether an expression uses an attribute behind other steps
//	tests.go                   the places in test files that do not fit after the moves
//	conceal.go                 differences of texts, without secrets
//	edits.go                   edits of texts, which can be undone
//	over.go                    files of the disk with the new texts, for loading
//	draft.go                   Draft: modules and their files
//	uses.go                    the references of a part, and the place of each
//	parts.go                   files, their parts, and an index of these
package rewrite
