// Package program compiles a configuration once, for any number of evaluations.
//
// The work has these passes, each in separate files:
//
//	Compile   a Unit for each module (compile.go): its declarations as Defs, their expressions rewritten into nodes of
//	          package expr (rewrite.go, bodies.go), the names in them resolved (refs.go, names.go, allowedrefs.go);
//	          a Node for each place of a module in the tree, with an index for each of its declarations (Decl);
//	          the provider configuration that each resource uses (providers.go);
//	          the references between declarations (link.go), which order a walk
//	Bind      bodies compiled against the schemas of providers (bind.go, bodycompile.go), and references checked
//	          against the attributes and functions in the schemas (bindrefs.go)
//
// This package evaluates constants only. Package frame evaluates everything else. Package vet has further checks.
//
// Some expressions are compiled on demand (ondemand.go): expressions that a user types into a console, and expressions
// that are evaluated before a program exists.
//
// sources.go finds the names in the texts of a compiled program, which explain a value.
//
// The files form layers, each above the files that it uses: sources.go, bind.go, ondemand.go, compile.go, link.go,
// providers.go, bodycompile.go, bodies.go, rewrite.go, refs.go and its helpers, compiler.go (compiles one unit and
// records its references), and at the bottom the results: program.go, unit.go, rawbody.go, declaration.go.
package program
