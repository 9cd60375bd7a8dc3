// Package expr holds the nodes of compiled expressions and bodies, and evaluates them.
//
// A compiled expression is the HCL library's tree with nodes of this package in it. They take the place of the
// library's where this language wants more than it does:
//
//   - references are evaluated where they stand (Ref, Index, OutputOf), so that conditionals, try and for mean what
//     they mean, and a reference to one instance never builds the others;
//   - no mark is lost. The library drops marks that lie inside of what makes a result unknown, and
//     those of keys into objects and maps; it takes the marks of a collection off its elements while
//     a for expression looks at them, so that messages would show them;
//   - work stays linear: one context for all turns of a loop, types looked at once;
//   - what an evaluation may make is bounded (Meter).
//
// Where nodes report something they say what the library says: users know its texts, and search for them.
//
// What a node needs from outside it finds in an Env, which is one evaluation: a Scope, which says what names
// mean, a Meter, which counts, a bag, and the state of the evaluation. Package frame has the Scope and the Meter
// that count; a test can do with a few lines of its own.
//
// Files stand in layers, each above those that it uses: body.go and for.go evaluate parts of what they stand for, and
// report with the values in it (explain.go, suggest.go); below are files for the other kinds of nodes, env.go with the
// interfaces, ephemeralnames.go and values.go.
//
// Body is a body that was compiled against a schema: it evaluates to a value of the schema's type.
package expr
