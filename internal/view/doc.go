// Package view shows events and results: to people as text, to programs as JSON.
//
// A command sends its events and its results to one of two views. Human prints text: lines with the wording that tools
// expect, plans, and diagnostics with a bar. On a terminal, it also draws a block at the bottom of the screen with the
// operations in progress (the live block). JSON prints one object per line. Other functions write the documents of
// `show`, `state show`, `output`, `validate`, `providers schema` and `metadata functions`.
//
// Package review finds the values of changes. Package diff compares the values and returns a tree of nodes. One
// renderer writes these trees as text (render.go). To show an object without a change, the renderer writes the
// comparison of the object with itself. The JSON documents are structs with json tags. Each struct is in the file that
// fills it (document.go, doc*.go, stream.go). Package jsondoc contains the common parts, and the documents about
// schemas and functions.
//
// Files are in layers, each above the files that it uses:
//
//	doc.go, human.go, stream.go              the two views
//	diagtext.go, live.go, running.go         diagnostics, the live block, operations in progress
//	statetext.go, plantext.go, outputs.go    plans, states and outputs for people
//	doc*.go                                  plans, states, configurations for programs
//	content.go                               the lines of a change, for pages and comments
//	change.go, render.go, value.go           changes, trees and values as text
//	document.go                              common parts of JSON documents
//	long.go, lines.go, options.go, escape.go
//
// Wording and layout are the same as in Terraform 1.11.4, except for the name of the program. Recordings of Terraform
// are in testdata/peer. If a recording is wrong or hides a change, the same file also has the text of Lethe, and the
// test names the difference.
//
// All text from outside is escaped before it reaches a terminal (escape.go), and Options.Scrub masks the secrets of
// this run. This package only formats: it calls no provider and reads no file.
package view

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// View shows the progress and the results of a command.
type View interface {
	event.Sink
	// Diagnostics shows all diagnostics of a command that were not shown before.
	Diagnostics(ds []diag.Diagnostic)
	// Plan shows a finished plan.
	Plan(p *plan.Plan, o PlanOptions)
	// Outputs shows root outputs after an apply.
	Outputs(outs map[string]state.Output)
	// Finish ends the view: it prints lines that were held back, and removes the live block.
	Finish()
}

var (
	_ View = (*Human)(nil)
	_ View = (*JSON)(nil)
)
