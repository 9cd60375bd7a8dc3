// Package engine plans, applies, validates, refreshes and imports. It is the interface of the packages below it: an
// Engine is created once for a command, and each of its methods passes a request on.
//
//	Compile      compiles a configuration to a program and checks it against the schemas of its providers
//	Validate     package validating
//	Plan         package planning; a refresh is a plan in the refresh-only mode
//	Apply        package applying
//	Generate     writes blocks for imported resources that the configuration lacks; a plan follows
//	Import       a plan of which only the imported objects are kept
//	Query        package querying
//	Frame        a frame with a stored state, for the console
//	PreviewLeases, Footprint, Stamps, Hosts, Walked, Unfinished    answer questions about plans, states and the current run
//
// All work is done in the nodes of two graphs. The plan walk visits declarations: a managed resource has a node that
// refreshes its stored objects and a node that decides about its instances; variables, locals and outputs are gates
// between them. The apply walk visits the steps that plan.Order derives from the changes. This package stores no
// values: they are in the slots of a frame.Frame, on the before face (prior values) or the after face (planned values).
// Each value is evaluated when it is needed.
//
// The packages, each row below the packages that use it:
//
//	engine
//	planning    applying     querying
//	validating
//	run
//	leases      ordering     targeting   footprint   changed   rounds
//	receivers   filling      moving
//	declared
//
// Planning and applying do not use each other. Both use a run (package run), which has the provider sessions, the
// leases, the conditions and the guard that protects secrets. The packages below run evaluate nothing and call no
// provider, except that leases calls run through an interface.
package engine
