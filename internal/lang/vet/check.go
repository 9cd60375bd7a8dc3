package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
)

// CheckOptions say how far a check goes.
type CheckOptions struct {
	BodiesOnly bool          // compile the bodies and nothing more: the configuration was checked before
	Incomplete bool          // resources may lack arguments
	Called     bool          // the configuration is a module that others call (config.Tree)
	Options    frame.Options // directories, callers of functions, limits; the rest is not used
}

// Structure checks what a compiled program says without its schemas: arguments of calls, moves, deprecated outputs,
// constants, cycles and destroy-time provisioners.
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

// Check binds the program to the schemas of its providers (Program.Bind) and evaluates everything once, to
// report what can be found wrong without any value: values of the wrong type, ephemeral values where they would
// be kept. What is not written out is unknown. It may be called after Compile failed, to have all there is to
// report. Of what needs itself only the bodies are looked at.
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
