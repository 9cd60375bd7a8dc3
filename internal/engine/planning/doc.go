// Package planning computes plans. Its walk visits declarations, and resources that are only in the state.
//
// Plan answers a Request with a Result. Before the walk it determines the moved objects (package moving) and the
// selection by targets (package targeting). Then a planner builds the graph and runs it. These types do the work of the
// nodes:
//
//   - storedObject refreshes one object of the state;
//   - instance decides about one declared instance of a managed resource, or reads one of a data source;
//   - endedObject plans the end of an object that is no longer declared;
//   - leaseNodes close leases and stop providers after their last user;
//   - beforeFace makes values ready on the before face when a session needs them.
//
// outcomes records which declarations change and which have no value, for the declarations that depend on them. After
// the walk, Plan orders replacements (package ordering), compares root outputs and finishes imports.
//
// The files are layers. planning.go builds the walk and its nodes. Below it is a file for each subject of decisions.
// Below these are jobs.go (instances to decide about), learn.go (secrets of objects that are only read), planner.go
// (data of a walk) and outcomes.go.
package planning
