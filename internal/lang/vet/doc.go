// Package vet holds the checks over a compiled program. It imports programs and frames, and neither knows of it.
//
// Structure checks what needs no schema: arguments of module calls (callargs.go), moved blocks (moves.go),
// deprecated outputs, variables that promise to be constants, cycles, destroy-time provisioners. Check binds a program
// to its schemas and evaluates everything once in frames where nothing is known but what is written out
// (evaluate.go); it also looks at ignore_changes and at outputs of write-only attributes.
//
// A check that only reports belongs here. What later passes need belongs to package program; the results of two
// searches are handed back to it: the order of moves, and the declarations that need a cycle.
package vet
