// Package view shows events and results: to people as text, to programs as JSON.
//
// Two views take the event stream and the results of a command. Human prints lines in the form that tools expect,
// plans, and boxed diagnostics, and on a terminal a block at the bottom of the screen with the operations in progress.
// JSON prints one object per line. Other functions write the documents of `show`, `state show`, `output`, `validate`,
// `providers schema` and `metadata functions`.
//
// Package review finds the values of changes, and package diff compares them and returns a tree of nodes. One renderer
// writes such trees (render.go). To show an object without a change, the renderer writes the comparison of the object with
// itself. The JSON documents are structs with json tags, each in the file that fills it (document.go, doc*.go, stream.go).
// Package jsondoc contains their common parts, and the documents about schemas and functions.
//
// Files are in layers, each above the files that it uses:
//
//	doc.go, human.go, stream.go              the two views
//	diagtext.go, live.go, running.go         diagnostics, the live block, operations in progress
//	statetext.go, plantext.go, outputs.go    plans, states and outputs for people
//	doc*.go                                  and for programs
//	content.go                               the lines of a change, for pages and comments
//	change.go, render.go, value.go           changes, trees and values as text
//	document.go                              common parts of JSON documents
//	long.go, lines.go, options.go, escape.go
//
// Wording and layout are Terraform 1.11.4's, recorded in testdata/peer, with the name of this program. If a
// recording is wrong or hides a change, the same file also has our own text,
// and the test names the difference.
//
// All text from outside is escaped before it reaches a terminal (escape.go), and the function in Options removes this
// run's secrets. This package decides nothing: it calls no provider and reads no file.
package view

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// View shows a command.
type View interface {
	event.Sink
	// Diagnostics shows all diagnostics of a command that were not shown before.
	Diagnostics(ds []diag.Diagnostic)
	// Plan shows a finished plan.
	Plan(p *plan.Plan, o PlanOptions)
	// Outputs shows root outputs after an apply.
	Outputs(outs map[string]state.Output)
	// Finish ends the view: it prints held-back lines and removes the live block.
	Finish()
}

var (
	_ View = (*Human)(nil)
	_ View = (*JSON)(nil)
)
