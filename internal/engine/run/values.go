package run

import (
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Values are evaluated when something needs them. Those that nothing needs may be wrong, too, and this
// is reported like any other mistake: when all is decided they are looked at as well, and
// again when all is done, for what was not known before.

// CheckValues evaluates the variables, locals and outputs of all modules, with what they have to say.
// Those that a lease has a part in are left out: it is closed by now, if it was open at all.
func (r *Run) CheckValues() {
	for _, d := range r.Program.Decls() {
		if d.Kind != program.Variable && d.Kind != program.Local && d.Kind != program.Output || d.Module.IsRoot() && d.Kind != program.Local || r.Receivers.Leased(d.ID) {
			continue
		}
		frames, _ := r.Frame.Instances(d.Module, frame.After)
		for _, f := range frames {
			f.Named(d.Kind, d.Name, frame.After, r.Bag)
		}
	}
}
