// Package program compiles a configuration once, for any number of evaluations.
//
// It works in passes, each in its files:
//
//	Compile   a Unit for each module (compile.go): its declarations as Defs, their expressions rewritten into nodes of
//	          package expr (rewrite.go, bodies.go), the names in them resolved (refs.go, names.go, allowedrefs.go);
//	          a Node for each place of a module in the tree, with an index for each of its declarations (Decl);
//	          the provider configuration that each resource uses (providers.go);
//	          the references between declarations (link.go): what a walk orders by
//	Bind      bodies compiled against the schemas of providers (bind.go, bodycompile.go), attributes and functions that
//	          are referred to held against them (bindrefs.go)
//
// Nothing is evaluated here but constants. What evaluates is package frame; what only checks is package vet.
//
// Some things are compiled when they are asked for (ondemand.go): expressions typed into a console, and all that is
// evaluated before there is a program.
//
// Files stand in layers, each above those that it uses: bind.go, ondemand.go, compile.go, link.go, providers.go,
// bodycompile.go, bodies.go, rewrite.go, refs.go and its helpers, compiler.go (what compiles one unit, and notes what it
// refers to), and below it what is compiled: program.go, unit.go, rawbody.go, declaration.go.
package program
