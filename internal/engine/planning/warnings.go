package planning

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// warnForgotten says what a plan leaves in place that nothing manages then.
func warnForgotten(r *run.Run, changes []*plan.Change) {
	list, unsaid := "", map[*config.Removed]bool{}
	for _, c := range changes {
		if c.Action != plan.Forget {
			continue
		}
		list += fmt.Sprintf("\n  - %s", c.Object)
		if b, ok := r.Removals.Of(c.Object.Instance); ok && !c.SkipDestroy && !unsaid[b.Block] {
			unsaid[b.Block] = true
			r.Bag.Add(diag.Warningf("Removed block does not say whether to destroy",
				"What this block is about is forgotten, and stays where it is. Terraform would destroy it. Say which is meant, by `lifecycle { destroy = false }` or `lifecycle { destroy = true }` in the block.").At(b.Block.Range))
		}
	}
	if list == "" {
		return
	}
	why := ""
	if r.Destroys {
		why = "\n\nTheir configuration says destroy = false, and that holds for a destruction of everything, too. Terraform and OpenTofu destroy what a removed block is about then."
	}
	r.Bag.Add(diag.Warningf("Some objects will no longer be managed by Lethe",
		"If this plan is applied, Lethe discards what it knows of the following objects, and does not delete them:%s\n\nTo manage them again they have to be imported.%s", list, why))
}

// warnRetired warns of destroy-time provisioners that run when their object's successor is there.
// Scripts that name what both are called mean the old one and meet the new one.
func warnRetired(r *run.Run, out *plan.Plan) {
	if out.SpareDeposed {
		return
	}
	warned := map[program.Decl]bool{}
	for _, c := range out.Changes {
		if !declared.Deposes(c) {
			continue
		}
		h := declared.ProvisionersOf(r.Program, r.Removals, c, c.Entry, true)
		if len(h.List) == 0 || h.Decl == nil || warned[h.Decl.ID] {
			continue
		}
		warned[h.Decl.ID] = true
		r.Bag.Add(diag.Warningf("Destroy-time provisioners run after the replacement is created",
			"The old object of %s is destroyed when the new one is there, and its destroy-time provisioners run then. What they address by a name that both have is the new one. Let them use what only the old one has, such as self.id.\n\nTerraform and OpenTofu do not run them. To have it so, set skip_deposed_provisioners = true in the CLI configuration, or LETHE_SKIP_DEPOSED_PROVISIONERS=true in the environment.", c.Object.Instance).At(h.List[0].Range).About(c.Object.Instance))
	}
}
