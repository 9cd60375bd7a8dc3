// Package funcs contains the built-in functions of the language.
//
// Table makes the functions for one Env (the limits, directories and times of an evaluation), each by its plain name
// and by its name with "core::". Pass the table to an evaluation unchanged, without copying it. Names, Pure, Impure and
// SignatureOf describe the functions.
//
// Each function is a builtin: a row with its parameters, its documentation and a Go function, run, that computes the
// result (numbers.go, strings.go, sequences.go and other files). The steps that all calls share are in invoke.go. The
// mode of a parameter decides about exceptions:
//
//   - Arguments are converted to the types of their parameters.
//   - A null is an error, unless the mode of the parameter permits null.
//   - Marks (sensitive, ephemeral) are removed from the arguments and put onto the result. A parameter whose mode is
//     marked keeps the marks, and run puts them onto the result.
//   - If an argument is unknown and the mode of its parameter does not permit this, run is not called and the result is
//     unknown. During plan, the result of an impure function, such as uuid, is unknown, too. The exception is timestamp
//     if Env.Now is set.
//
// For a builtin whose field whole is true, only the conversion is done, and run does the other steps itself.
//
// The package differs from the way in which package cty calls functions:
//
//   - Most arguments are passed in capsules (values of a cty capsule type, arg.go), so that a call of element does not
//     visit all elements of a list of 50,000 elements. Conversions inspect each type once (package convert), so that
//     work grows with the number of elements and not with its square.
//   - The sizes of the arguments and of the result of a call are limited (package limits, argscan.go), so that an
//     expression that is written to exhaust the memory fails quickly.
//   - A message never shows a sensitive or ephemeral value (argerrors.go). Only ephemeralasnull removes the ephemeral
//     mark; can, try and issensitive keep it (trycan.go).
//
// The files form layers, each above the files that it uses: table.go, the files with builtins, invoke.go, arg.go,
// argscan.go, argerrors.go, call.go (the types builtin and call).
//
// If Terraform 1.11.4 and OpenTofu 1.12 agree on a result, Lethe returns the same. If they differ, Lethe follows the
// newer rule. testdata/peer has the results of Terraform for more than two thousand expressions.
package funcs
