// Package planning computes plans. It runs the nodes of a graph (a walk), which has nodes for declarations, and for
// resources that are only in the state.
//
// Plan answers a Request with a Result. Before the walk it determines the moved objects (package moving) and the
// selection by targets (package targeting). Then a planner builds the graph and runs it. These types do the work of the
// nodes:
//
//   - storedObject refreshes one object of the state;
//   - instance decides about (plans) one declared instance of a managed resource, or reads one instance of a data
//     source;
//   - endedObject plans the end of an object that is no longer declared;
//   - leaseNodes close ephemeral resources and stop providers after their last user;
//   - beforeFace sets prior values (the before face) when the settings of a provider or an ephemeral resource need
//     them.
//
// outcomes records which declarations change and which have no value, for the declarations that depend on them.
// deferrals records the decisions that wait for a later round: a further plan and apply of the command. After the walk,
// Plan determines the order within replacements (package ordering), compares root outputs and finishes imports.
//
// planning.go builds the graph. It uses files for the subjects of decisions, such as decide.go and data.go. These use
// jobs.go (instances to decide about), learn.go (secrets of objects that are only read), planner.go (data of a walk)
// and outcomes.go. No two files use each other.
package planning
