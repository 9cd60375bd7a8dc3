// Package engine plans, applies, validates, refreshes and imports. It is the interface of the packages below it: a
// command creates an Engine, and most methods of the Engine pass a request on to a package below.
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
// Plan and apply run the nodes of a graph; such a run is called a walk. The plan walk visits declarations: a managed
// resource has a node that refreshes its stored objects and a node that decides about (plans) its instances. Variables,
// locals and outputs without conditions are gates, which have no work. The apply walk visits the steps that plan.Order
// derives from the changes. The values of declarations are in a frame.Frame. Each has two faces: the before face is the
// prior value, the after face is the planned value. Most values are evaluated when they are needed.
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
// Planning and applying do not use each other. Both use package run, which has the configured providers, the open
// ephemeral resources (leases), the conditions and the search for secrets in answers. The packages below run call no
// provider, except that leases calls run through an interface.
package engine
