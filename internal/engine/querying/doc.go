// Package querying searches for existing objects: it evaluates the list blocks of a program and calls ListResource.
//
// Query walks the list blocks in the order of their references. A search opens the leases that its settings need, as
// planning does, and evaluates its block. Each result is checked (object/guard), compared with states (managed.go),
// written as configuration and reported before the next is read. A search keeps its results only if another
// block refers to them, so that a long search needs little memory.
//
// Query changes nothing and plans nothing. Blocks may refer to objects of the state; the values of all other objects are
// unknown, and a search cannot use them.
//
//	querying.go  Query: the walk, and one search from its block to its results
//	value.go     the value of a list block, and results as JSON
//	managed.go   which results are managed
//	names.go     names of generated resources
package querying
