package program

// A local is a constant if it consists of literals, pure functions (funcs.Pure) and other constants. Its value is the
// same in every module instance, before and after the run's changes, and in every walk (plan, apply or validation). The
// program keeps the value in one shared cell instead of a cell in each frame (module instance), so that later walks
// reuse the value that the check of the program computed.
//
// The compiler finds out whether a local varies when it compiles the expression (compiler.varies). A local varies if it
// refers to anything other than a local, or calls a function that is not pure. So a constant never contains a value
// that is unknown, ephemeral, or different between plan and apply, and an error in a constant is an error in every
// instance. If the shortcut "constants" is disabled, each frame has its own cell again (docs/performance.md).

// constants sets Def.Once for each local that is a constant.
func (u *Unit) constants() {
	asked := make([]bool, len(u.Defs))
	for _, d := range u.Defs {
		if d.Kind == Local && u.constant(d, asked) {
			d.Once = &shared{}
		}
	}
}

// constant reports whether a local is a constant. It stores the result in refs.varies. Locals in a cycle are not
// constants. asked has the locals whose check is finished or has begun.
func (u *Unit) constant(d *Def, asked []bool) bool {
	if asked[d.Index] || d.refs.varies {
		return !d.refs.varies
	}
	asked[d.Index], d.refs.varies = true, true // assume that the local varies until its references are checked, so that the check of a cycle ends
	for _, use := range d.refs.uses {
		if !u.constant(u.Defs[use.local], asked) {
			return false
		}
	}
	d.refs.varies = false
	return true
}
