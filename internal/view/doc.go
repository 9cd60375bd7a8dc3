// Package view shows what happens and what was found: to people as text, to programs as JSON.
//
// Two views take the event stream and the results of a command. Human prints lines as tools have
// come to expect them, plans, and boxed diagnostics, and on a terminal keeps a block at the bottom
// of the screen with what is running; JSON prints one object per line. Beside them stand the
// documents of `show`, `state show`, `output`, `validate`, `providers schema` and `metadata
// functions`.
//
// Ideas. Values become a document first (docvalue.go): plain kinds of text, numbers, lists and dicts
// with what is sensitive marked in place; JSON inside strings becomes the same. There is one diff
// algorithm, from two documents to a tree of nodes (diff.go), and one renderer of such trees
// (render.go); an object that is merely shown is the diff with itself. Lists are matched by their
// longest common subsequence, up to a size, and above it in nearly linear work (align.go). The JSON
// documents are structs with json tags, each on the page that fills it (document.go, doc*.go, stream.go); what all
// of them have in common, and those about schemas and functions, are package jsondoc's.
//
// Files stand in layers, each above those that it uses:
//
//	doc.go, human.go, stream.go              the two views
//	diagtext.go, live.go, running.go         diagnostics, the live block, what is under way
//	statetext.go, plantext.go, outputs.go    plans, states and outputs for people
//	doc*.go                                  and for programs
//	change.go, render.go, value.go           changes, trees and values as text
//	document.go, objects.go                  what JSON documents share; objects of plans and states
//	diffblock.go, diff.go, align.go          the diff of two documents
//	docvalue.go, schemaform.go               values and schemas as documents
//	lines.go, options.go, escape.go
//
// Wording and layout are those of Terraform 1.11.4, recorded in testdata/peer, with our name for
// theirs; where a recording is wrong or hides a change, our own text stands beside it in the same
// file and the test says that they differ.
//
// Everything that comes from outside is escaped before it reaches a terminal (escape.go), and
// scrubbed of this run's secrets by the function in Options. Nothing here decides anything: no
// provider is called and no file is read.
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
	// Diagnostics shows all of a command's diagnostics; those that were shown before are left out.
	Diagnostics(ds []diag.Diagnostic)
	// Plan shows a finished plan.
	Plan(p *plan.Plan, o PlanOptions)
	// Outputs shows root outputs after an apply.
	Outputs(outs map[string]state.Output)
	// Finish ends the view: what is still held back is printed, the live block is gone.
	Finish()
}

var (
	_ View = (*Human)(nil)
	_ View = (*JSON)(nil)
)
