// Package lang is the meaning of a configuration: compiled once, evaluated many times. Its rooms:
//
//	expr     the nodes of compiled expressions and bodies; they need a Scope and a Meter
//	program  compile once: units, declarations, references, bodies bound to schemas
//	frame    evaluate many: a module instance in a walk, with its cells and slots
//	vet      checks over a program; it imports the others and is imported by none of them
//	funcs    the functions of the language
//	outline  a configuration as `show -json` prints it
//
// Compile makes a program, vet.Check holds it against the schemas of its providers, frame.New begins to evaluate it.
//
// # One module, with data
//
//	variable "name" { default = "a" }
//	locals { full = "${var.name}-${length(var.name)}" }
//	resource "test_thing" "r" {
//	  count = 2
//	  name  = local.full
//	}
//	output "ids" { value = test_thing.r[*].id }
//
// Compiled, the module is a unit (program.Unit), however often it is called. The unit has a definition (program.Def)
// for each of the four things: its expressions, rewritten, and what they use. The place of the module in the tree is
// a node (program.Node). Each definition at each node is a declaration, and a Decl is its number. References go from
// one declaration to another and say why, and which instances they mean:
//
//	0 variable var.name
//	1 local local.full → 0 value single
//	2 output output.ids → 3 value
//	3 resource test_thing.r → 1 value single → 4 provider single
//	4 provider provider["registry.opentofu.org/hashicorp/test"]
//
// The last one is implied: nothing in the text configures the provider. The engine orders its work by these
// references.
//
// A frame is an instance of the module in one walk. Variables, locals and outputs are cells in it: computed
// when they are first asked for, by evaluating what the definition has, and remembered. Asking for the configuration
// of test_thing.r[0] asks for local.full, which asks for var.name:
//
//	cell local.full = "a-1"
//	configuration of test_thing.r[0]: name = "a-1"
//	configuration of test_thing.r[1]: name = "a-1"
//
// Instances of resources have slots. The engine fills them, here once the provider has said what the objects are,
// and what refers to them reads them:
//
//	slot test_thing.r[0]: id = "id-0"
//	slot test_thing.r[1]: id = "id-1"
//	cell output.ids = ["id-0", "id-1"]
//
// Cells and slots have two faces, before (what is there) and after (what will be); a declaration that no managed
// resource has a part in is steady, and its faces are one.
//
// A mistake is a diagnostic that the cell keeps, for everyone who needs the cell. What has failed elsewhere
// travels silently, as an Outcome. Marks are never lost on the way; at the borders of cells they are folded and get one
// step more of the way they came, and where they may not go on, the message has that way.
package lang
