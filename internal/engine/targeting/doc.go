// Package targeting computes which instances a plan covers: the selection of -target, -exclude, -invoke and plan
// -changed.
//
// Select answers a Request with a Selection. It uses the references of the program and the dependencies in the state,
// and evaluates nothing. With -target, the selection is the targets and their dependencies, or in a destroy plan the
// targets and their dependents. With -exclude, it is everything except the excluded addresses and their dependents, or
// in a destroy plan everything except the excluded addresses and their dependencies. With -invoke, it is an action, its
// dependencies, and the objects that may be its caller.
package targeting
