// Package program compiles a configuration once, for any number of evaluations.
//
// It works in passes, each in its files:
//
//	Compile   a Unit for each module (unit.go): its declarations as Defs, their expressions rewritten into nodes of
//	          package expr (rewrite.go), the names in them resolved (refs.go, names.go, allowedrefs.go);
//	          a Node for each place of a module in the tree, with an index for each of its declarations (Decl);
//	          the provider configuration that each resource uses (providers.go);
//	          the references between declarations (link.go): what a walk orders by
//	Bind      bodies compiled against the schemas of providers (bodycompile.go), attributes and functions that are
//	          referred to held against them (selections.go, functions.go)
//
// Nothing is evaluated here but constants. What evaluates is package frame; what only checks is package vet.
//
// Some things are compiled when they are asked for (ondemand.go): expressions typed into a console, and all that is
// evaluated before there is a program.
package program
