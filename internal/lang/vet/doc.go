// Package vet checks compiled programs. It imports packages program and frame, and they do not import it.
//
// Structure runs the checks that need no schema: arguments of module calls (callargs.go), moved blocks (moves.go),
// deprecated outputs, variables with const = true, cycles, destroy-time provisioners. Check binds a program to its
// schemas and evaluates everything once in frames in which only literal values are known (evaluate.go). It also checks
// ignore_changes and outputs of write-only attributes.
//
// The checks of this package only report mistakes. The package stores two results in the program, for later passes: the
// order of moves, and the declarations that depend on a cycle.
package vet
