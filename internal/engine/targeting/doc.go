// Package targeting computes the selection of -target and -exclude.
//
// Select answers a Request with a Selection. It uses the references of the program and the dependencies in the state,
// and evaluates nothing. With -target, the selection is the targets and their dependencies, or in a destroy plan the
// targets and their dependents. With -exclude, it is everything except the excluded addresses and their dependents, or
// in a destroy plan everything except the excluded addresses and their dependencies. With -invoke, it is an action and
// its dependencies.
package targeting
