// Package planning finds out what would have to be done: the plan walk, over declarations and over resources
// that only the state knows.
//
// Plan answers a Request with a Result. Before the walk it is settled where objects have moved (package moving)
// and what targeting leaves to do (package targeting). Then a planner makes the graph and runs it. What happens
// at the nodes is done by
//
//   - storedObject: an object of the state is looked at, and refreshed;
//   - instance: a declared instance of a managed resource is decided about, or one of a data source read;
//   - goneObject: the end of an object that nothing declares any more;
//   - leaseNodes: leases and providers are ended after their last user;
//   - lookBack: what is needed on the before face is got ready there, when a session asks for it.
//
// outcomes keeps what others wait for: which declarations change, and which have no value. After the walk
// replacements are ordered (package ordering), root outputs compared and imports finished.
//
// Files stand in layers: planning.go makes the walk and its nodes; below it is a file for each thing that it decides
// about; and below these jobs.go (instances to decide about), planner.go (what a walk knows) and outcomes.go.
package planning
