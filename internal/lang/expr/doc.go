// Package expr defines the nodes of compiled expressions and bodies, and evaluates them.
//
// A compiled expression is a tree of nodes of the HCL library, in which some nodes are replaced by nodes of this
// package. The replacements differ from the library's nodes as follows:
//
//   - References are evaluated where they occur (Ref, Index, OutputOf), not before the expression. So conditionals, try
//     and for evaluate only the references that they need, and a reference to one instance does not evaluate the other
//     instances.
//   - No mark (sensitive or ephemeral) is lost. The library drops marks inside of a value that makes a result unknown,
//     and marks of keys of objects and maps. In a for expression, it removes the marks of a collection from the
//     elements, so that messages would show them. Functions that remove marks on purpose, such as nonsensitive, still
//     do so.
//   - Work stays linear: all iterations of a loop without diagnostics share one context, and types are inspected once.
//   - The work of an evaluation is limited (Meter).
//
// Most nodes use the library's error messages, because users know these texts, and search for them.
//
// A node finds its environment in an Env, which represents one evaluation. An Env has a Scope, which resolves names, a
// Meter, which counts the work, a bag for diagnostics, and the state of the evaluation. Package frame implements Scope
// and Meter for commands. Tests use small implementations.
//
// The files form layers, each above the files that it uses. The highest, body.go and for.go, evaluate composite nodes
// and report errors with values (explain.go, suggest.go). Below them are the files for the other kinds of nodes, and
// then env.go with the interfaces, ephemeralnames.go and values.go.
package expr
