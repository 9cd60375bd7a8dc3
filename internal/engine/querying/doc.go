// Package querying searches for existing objects: it evaluates the list blocks of a program and calls ListResource.
//
// Query walks the list blocks in the order of their references. A search (one instance of a list block) opens the
// ephemeral resources that its arguments use, and evaluates its block. Each result is checked (package object/guard),
// compared with states if the request has any (managed.go), written as configuration if the request asks for it, and
// reported before the next result is read. So a long search needs little memory. If another block refers to a list
// block, its results are kept in memory.
//
// Query changes and plans nothing. Blocks may refer to objects of the state in the request. The values of all other
// objects are unknown. A search whose arguments are unknown fails.
//
//	querying.go  Query: the walk, and one search from its block to its results
//	value.go     the value of a list block, and results as JSON
//	managed.go   which results a state has already (managed objects)
//	names.go     names of generated resources
package querying
