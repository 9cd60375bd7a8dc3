package planning

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
)

// explainUnknown adds an explanation to the errors of providers in a destroy plan, if the settings of a provider refer
// to objects that the state no longer has. No later round (a further plan and apply) can make these settings known.
func explainUnknown(p *planner) {
	if p.req.Mode != plan.Destroy || !p.run.Bag.HasErrors() {
		return
	}
	var why string
	for _, i := range p.run.Sessions.NoBefore() {
		why += unknowable(p, i)
	}
	if why == "" {
		return
	}
	list := p.run.Bag.List()
	p.run.Bag.Clear()
	for _, d := range list {
		if d.Foreign && d.Severity == diag.Error {
			d.Detail += "\n\n" + why + "Put values into the provider block and run the command again, or remove the objects of the provider from the state: lethe state rm"
		}
		p.run.Bag.Add(d)
	}
}

// unknowable returns a sentence about objects that the state lacks although the settings of a provider refer to them.
// It returns "" if the state has all these objects.
func unknowable(p *planner, i addr.ProviderInstance) string {
	d, ok := p.run.Program.ProviderConfig(i.ProviderConfig)
	if !ok {
		return ""
	}
	var missing []string
	for _, r := range p.outcomes.resourcesBehind(d.ID) {
		if res := p.run.Program.Decls()[r].Resource; len(p.moved.ByDeclaration()[res]) == 0 {
			missing = append(missing, res.String())
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("The settings of %s are not known, because the state does not have %s. ", i, strings.Join(missing, ", "))
}
