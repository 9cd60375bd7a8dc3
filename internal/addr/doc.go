// Package addr represents the names of things: modules, resources, their instances and objects, providers and their
// configurations.
//
// All types except Target are comparable: they can be map keys, and == compares addresses. Recursive types (module
// paths) are interned by package unique. The package has only names, and no data about the things. The Parse functions
// read addresses, and String writes them. A fuzz test checks that both agree.
//
// Four types represent the levels of a resource:
//
//	Resource       a declared resource: one block in one module of the configuration tree
//	AbsResource    a resource inside one module instance
//	Instance       one instance of a resource, by key
//	Object         the current or a deposed object of an instance
package addr
