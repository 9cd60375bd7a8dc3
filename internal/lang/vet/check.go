package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
)

// CheckOptions configure Check.
type CheckOptions struct {
	BodiesOnly bool          // compile the bodies, and skip the evaluation, which was done before
	Incomplete bool          // resources may lack required arguments
	Called     bool          // the configuration is a module without its caller (config.Tree.Called)
	Options    frame.Options // the directories, Run and the limits; other fields are ignored
}

// Structure checks the parts of a compiled program that need no schema: arguments of module calls, moved blocks,
// deprecated outputs, variables with const = true, cycles and destroy-time provisioners. If there is a cycle, it does
// not check the provisioners. If it reports an error, it returns false; deprecated outputs cause only warnings.
func Structure(p *program.Program, bag *diag.Bag) bool {
	ok := checkCalls(p, bag)
	ok = checkMoves(p, bag) && ok
	deprecatedOutputs(p, bag)
	ok = constVariables(p, bag) && ok
	if !findCycles(p, bag) {
		return false
	}
	return destroyProvisioners(p, bag) && ok
}

// Check binds the program to the schemas of its providers (Program.Bind), and evaluates everything once with unknown
// values in place of all values that are not literal. So it reports mistakes that do not depend on values, such as
// values of the wrong type, or ephemeral values in stored arguments. Check may be called after Compile failed, so that
// all mistakes are reported together. It does not evaluate declarations that are part of a cycle or depend on a cycle.
// If o.BodiesOnly is true, it evaluates nothing. If it reports an error, it returns false.
func Check(p *program.Program, s provider.Lookup, o CheckOptions, bag *diag.Bag) bool {
	ok, grown := p.Bind(s, o.Incomplete, bag)
	c := &checker{p: p, bag: bag, ok: ok}
	c.ignored()
	if grown && !p.Cyclic() && !findCycles(p, bag) {
		c.ok = false
	}
	if o.BodiesOnly {
		return c.ok
	}
	c.evaluate(o.Options)
	c.writeOnlyOutputs()
	return c.ok
}
