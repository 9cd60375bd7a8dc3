// Package engine plans, applies, validates, refreshes and imports. It is the door of the rooms below it: an
// Engine is set up once for a command, and each of its methods passes a request on.
//
//	Compile      a configuration to a program, held against its providers' schemas
//	Validate     package validating
//	Plan         package planning; refreshing is a plan in the mode for that
//	Apply        package applying
//	Import       a plan of which only the imported objects are kept
//	Frame        a state to look around in, for the console
//	PreviewLeases, Footprint, Hosts, Walked, Unfinished    questions about plans, states and the run that goes on
//
// Everything that happens is a node of one of two graphs. The plan walk goes over declarations: a managed
// resource has a node that refreshes what is there and one that decides what will be; variables, locals and
// outputs are gates between them. The apply walk goes over the steps that plan.Order derives from the changes.
// Values are never stored here: they are in the slots of a frame.Frame, on the face where they belong (before:
// what is there; after: what will be), and each is evaluated where it is needed.
//
// The rooms, a row below those that use it:
//
//	engine
//	planning    applying
//	validating
//	run
//	leases      ordering     targeting   footprint
//	receivers   filling      moving
//	declared
//
// planning and applying do not know each other: both work on a run (package run), which has the sessions with
// providers, the leases, the conditions and the guard over secrets. The rooms below run evaluate nothing and ask
// no provider; leases asks run, through an interface of its own.
package engine
