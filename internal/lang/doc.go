// Package lang compiles configurations. A configuration is compiled once and evaluated many times. The packages below
// it contain the compiler and the evaluation:
//
//	expr     the nodes of compiled expressions and bodies; they need a Scope, which resolves names, and a Meter, which limits work
//	program  compilation: units (compiled modules), declarations, references, bodies bound to schemas
//	frame    evaluation: a module instance with its values in one walk, such as a plan
//	vet      checks of a program; it imports the other packages, and none of them imports it
//	funcs    the functions of the language
//	outline  the configuration as `show -json` prints it
//
// Compile returns a program. vet.Check checks the program against the schemas of its providers. frame.New begins an
// evaluation.
//
// # Example: one module
//
//	variable "name" { default = "a" }
//	locals { full = "${var.name}-${length(var.name)}" }
//	resource "test_thing" "r" {
//	  count = 2
//	  name  = local.full
//	}
//	output "ids" { value = test_thing.r[*].id }
//
// The compiler turns the module into one unit (program.Unit), even if several calls use the module. The unit has a
// definition (program.Def) for each of the four objects. A definition holds the compiled expressions and their
// references. The position of the module in the tree is a node (program.Node). A definition at a node is a declaration,
// and a Decl is its number. A reference leads from one declaration to another. It records the reason for the dependency
// and the instances that it needs:
//
//	0 variable var.name
//	1 local local.full → 0 value single
//	2 output output.ids → 3 value
//	3 resource test_thing.r → 1 value single → 4 provider single
//	4 provider provider["registry.opentofu.org/hashicorp/test"]
//
// The last declaration is implied, because no block configures the provider. The engine orders its work by these
// references.
//
// A frame is an instance of the module in one walk, which is one pass through the program, such as a plan. Variables,
// locals and outputs are cells of the frame. A cell is evaluated when it is first read, and keeps its value. The
// configuration of test_thing.r[0] reads local.full, which reads var.name:
//
//	cell local.full = "a-1"
//	configuration of test_thing.r[0]: name = "a-1"
//	configuration of test_thing.r[1]: name = "a-1"
//
// Instances of resources have slots. The engine puts the object of an instance into its slot when it knows the object,
// here after the provider has returned it. Expressions that refer to the resource read its slots:
//
//	slot test_thing.r[0]: id = "id-0"
//	slot test_thing.r[1]: id = "id-1"
//	cell output.ids = ["id-0", "id-1"]
//
// Each cell and each slot has two values, its faces: before (the prior state) and after (the planned state). If a
// declaration does not depend on a managed resource, it is called steady, and both faces are the same.
//
// A cell keeps the diagnostics of its evaluation, and reports them to each evaluation that reads the cell. If a cell
// fails because another cell failed, it reports no further error, and only its Status tells of the failure. No
// evaluation loses a mark (sensitive or ephemeral). A value that enters a cell keeps its marks, and the marks record
// the cell in their origin. A message about a forbidden mark shows this origin.
package lang
