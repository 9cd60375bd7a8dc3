// Package targeting works out what -target and -exclude leave to do.
//
// Select answers a Request with a Selection, from the references of the program and the dependencies that the
// state records; it evaluates nothing. With -target that is what the targets name and what that needs, or, where
// everything selected is to be destroyed, what needs that; with -exclude all but what the targets name and what
// needs that.
package targeting
