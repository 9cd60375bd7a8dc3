// Package devcmd defines the commands for writing and inspecting a configuration, such as validate, fmt, console,
// graph, output, show, providers and version.
package devcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// jsonOnly returns the Setup of a command whose only flags are -json and -json-into, and which the function run
// executes.
func jsonOnly(run func(context.Context, *base.Call) int) func(*base.Call) base.Run {
	return func(c *base.Call) base.Run {
		c.DocumentFlags()
		return func(ctx context.Context) int { return run(ctx, c) }
	}
}

// until calls work and returns its exit code. If ctx ends first, it returns ExitError at once; work continues in its
// goroutine, because it cannot be stopped.
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

// branch is a line of a tree in text output, with the branches below the line.
type branch struct {
	text  string
	below []branch
}

// drawn returns the lines of a tree as text. Each line begins with indent.
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
