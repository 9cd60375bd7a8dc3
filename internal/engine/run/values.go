package run

import (
	"github.com/lethe-iac/lethe/internal/lang"
)

// Values are evaluated when something needs them. Those that nothing needs may be wrong, too, and this
// is reported like any other mistake: when all is decided they are looked at as well, and
// again when all is done, for what was not known before.

// CheckValues evaluates the variables, locals and outputs of all modules, with what they have to say.
// Those that a lease has a part in are left out: it is closed by now, if it was open at all.
func (r *Run) CheckValues() {
	for _, d := range r.Program.Decls() {
		if d.Kind != lang.Variable && d.Kind != lang.Local && d.Kind != lang.Output || d.Module.IsRoot() && d.Kind != lang.Local || r.Receivers.Leased(d.ID) {
			continue
		}
		frames, _ := r.Frame.Instances(d.Module, lang.After)
		for _, f := range frames {
			switch d.Kind {
			case lang.Variable:
				f.Variable(d.Name, lang.After, r.Bag)
			case lang.Local:
				f.Local(d.Name, lang.After, r.Bag)
			case lang.Output:
				f.Output(d.Name, lang.After, r.Bag)
			}
		}
	}
}
