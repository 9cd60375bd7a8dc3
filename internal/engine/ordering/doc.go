// Package ordering translates a plan into the numbers that plan.Order needs, and the numbers in its steps back into
// addresses. plan.Order computes the steps of an apply and their order.
//
// New creates these numbers from a Source:
//
//   - a resource in a module instance is a group;
//   - a local, a variable or an output in a module instance is a gate, a node without work;
//   - a provider instance or an ephemeral resource is a hold: it is open while steps use it (Hold);
//   - references of the program are declared dependencies, references in the state are recorded dependencies.
//
// The index in a step means an element of one of these fields of an Ordering: an object (Objects), conditions (Tests),
// an action that the user invokes (Invoked) or a hold (Holds).
//
// The package has three uses, which get the same order. At the end of planning, SettleReplacements determines which
// replacements create the new object before they destroy the old object. An apply determines its steps. PreviewLeases
// determines the ephemeral resources that an apply will open, and the declarations that use them. For the first two,
// the package evaluates no values: the frame needs only the instance keys. PreviewLeases makes its own frame.
package ordering
