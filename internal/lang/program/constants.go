package program

// A local is a constant if it consists of literals, pure functions (funcs.Pure) and other constants. Its value is the
// same in every instance of its module, in both faces and in every walk. The program keeps the value in one shared cell
// instead of a cell in each frame, so that later walks reuse the value that the check of the program computed.
//
// The compiler finds out whether a local varies when it compiles the expression (compiler.varies). A local varies if it
// has a reference to anything but a local, or calls a function that is not pure. A constant therefore never contains a
// value that is unknown, ephemeral, or different between plan and apply, and an error in a constant is an error in
// every instance. Disabling the shortcut "constants" puts a cell into each frame again (docs/performance.md).

// constants sets Once for each local that is a constant.
func (u *Unit) constants() {
	asked := make([]bool, len(u.Defs))
	for _, d := range u.Defs {
		if d.Kind == Local && u.constant(d, asked) {
			d.Once = &shared{}
		}
	}
}

// constant reports whether a local is a constant. It stores the answer in refs.varies. Locals in a cycle are not
// constants. asked has the locals that were checked, or whose check has begun.
func (u *Unit) constant(d *Def, asked []bool) bool {
	if asked[d.Index] || d.refs.varies {
		return !d.refs.varies
	}
	asked[d.Index], d.refs.varies = true, true // assumed until the uses are checked, so that a cycle ends
	for _, use := range d.refs.uses {
		if !u.constant(u.Defs[use.local], asked) {
			return false
		}
	}
	d.refs.varies = false
	return true
}
