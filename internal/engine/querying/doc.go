// Package querying searches for existing objects: it evaluates the list blocks of a program and calls ListResource.
//
// Query walks the list blocks in the order of their references. A search opens the leases that its settings need, as
// planning does, and evaluates its block. Each result is checked (object/guard), compared with states (managed.go),
// written as configuration and reported before the next result is read. So a long search needs little memory. Only if
// another block refers to a list block, its results are kept.
//
// Query changes and plans nothing. Blocks may refer to objects of the state. The values of all other objects are
// unknown, and a search cannot use unknown values.
//
//	querying.go  Query: the walk, and one search from its block to its results
//	value.go     the value of a list block, and results as JSON
//	managed.go   which results are managed
//	names.go     names of generated resources
package querying
