package program

// A local that is made of literals, pure functions (funcs.Pure) and other such locals is a constant: it
// has one value, in every instance of its module, in both faces, in every walk. The program keeps that value
// in a cell of its own instead of one in each frame, so that what the check of the program has computed
// is there when the walks come.
//
// What makes a local vary is found where its expression is compiled (compiler.varies): any reference but
// one to a local, and any function that is not pure. So nothing that is unknown at any time, differs
// between plan and apply, or is ephemeral gets into a constant, and what is wrong with one is wrong for
// everyone. Closing the shortcut "constants" gives each frame its own again (docs/performance.md).

// constants finds the locals that are constants and gives them their cells.
func (u *Unit) constants() {
	asked := make([]bool, len(u.Defs))
	for _, d := range u.Defs {
		if d.Kind == Local && u.constant(d, asked) {
			d.Once = &shared{}
		}
	}
}

// constant finds out once whether a local is a constant. What is in a cycle is none.
func (u *Unit) constant(d *Def, asked []bool) bool {
	if asked[d.Index] || d.varies {
		return !d.varies
	}
	asked[d.Index], d.varies = true, true // until that is known
	for _, use := range d.uses {
		if !u.constant(u.Defs[use.local], asked) {
			return false
		}
	}
	d.varies = false
	return true
}
