// Package vet checks compiled programs. It imports the packages program and frame, which do not import it.
//
// Structure runs the checks that need no schema: arguments of module calls (callargs.go), moved blocks (moves.go),
// deprecated outputs, variables with const = true, cycles, destroy-time provisioners. Check binds a program to its
// schemas and evaluates everything once in frames in which only literal values are known (evaluate.go). It also checks
// ignore_changes and outputs of write-only attributes.
//
// The checks report mistakes. Two of them also store a result in the program, for later passes: the order of moved
// blocks, and the declarations that are part of a cycle or depend on one.
package vet
