// Package funcs is every built-in function of the language.
//
// Table makes the functions for one Env: plain names and core:: names, to be handed to an
// evaluation as they are and never copied. Names, Docs and Signatures describe them.
//
// A function is a builtin: a row with its parameters, its documentation and a Go function that
// does the work (numbers.go, strings.go, sequences.go and so on). What all calls have in common is in
// invoke.go: arguments are converted to the types of their parameters, refused when null, and their
// marks taken off and put onto the result; an unknown argument makes an unknown result.
//
// Three things are done here that package cty's own calling convention does not do:
//
//   - Arguments travel in capsules (arg.go), so that nothing walks through a list of 50,000 elements
//     to find out that `element` wants one of them. Conversions look at each type once
//     (package convert), so that work grows with the number of elements and not with its square.
//   - What a call may read and make is bounded (package limits, argscan.go): a bomb is an error in little time
//     and memory.
//   - A message never shows what is sensitive or ephemeral (argerrors.go), and no function takes the
//     ephemeral mark off but ephemeralasnull: `can`, `try` and `issensitive` keep it (trycan.go).
//
// Files stand in layers, each above those that it uses: table.go, the files with rows, invoke.go, arg.go, argscan.go,
// argerrors.go, call.go (what a row and a call are).
//
// Results are those of Terraform 1.11.4 and OpenTofu 1.12 where the two agree; testdata/peer holds what the
// former answered to more than two thousand expressions. Where they differ, the newer rule is taken.
package funcs
