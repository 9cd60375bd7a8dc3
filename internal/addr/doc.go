// Package addr holds the names of things: modules, resources, their instances and objects,
// providers and their configurations.
//
// Every type here is comparable all the way down, so that any of them is a map key and == means
// what it says; the recursive ones (module paths) are interned through package unique. Nothing
// here knows what a thing is, only what it is called: addresses are read with the Parse functions
// and written with String, and both directions agree (fuzzed).
//
// Three levels must be told apart, and are by type:
//
//	Resource       as declared: one block in one module of the configuration tree
//	AbsResource    the same inside one module instance
//	Instance       one of its instances, by key
//	Object         the current or a deposed object of an instance
package addr
