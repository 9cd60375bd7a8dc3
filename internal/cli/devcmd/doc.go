// Package devcmd has the commands for writing a configuration and looking at it: validate, fmt, console,
// graph, output, show, providers, explain, metadata and version.
package devcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// jsonOnly makes the Setup of a command whose only flags are about JSON.
func jsonOnly(run func(context.Context, *base.Call) int) func(*base.Call) base.Run {
	return func(c *base.Call) base.Run {
		c.DocumentFlags()
		return func(ctx context.Context) int { return run(ctx, c) }
	}
}

// until does work, or as much of it as there is time for: evaluating and reading cannot be stopped,
// but they need not be waited for.
func until(ctx context.Context, work func() int) int {
	done := make(chan int, 1)
	go func() { done <- work() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		return base.ExitError
	}
}

// branch is a line of a tree, with what is below it.
type branch struct {
	text  string
	below []branch
}

// drawn draws the branches of a tree.
func drawn(list []branch, indent string) string {
	out := ""
	for i, b := range list {
		mark, deeper := "├── ", "│   "
		if i == len(list)-1 {
			mark, deeper = "└── ", "    "
		}
		out += indent + mark + b.text + "\n" + drawn(b.below, indent+deeper)
	}
	return out
}
