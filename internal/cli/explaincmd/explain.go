// Package explaincmd defines the command explain.
//
//	explain.go  the command, and the decision whether to explain a value, a type or a code
//	values.go   a value of the configuration
//	types.go    a type or a function of a provider
//	asking.go   a question about a value or a type
//	codes.go    a code of an error or a warning
package explaincmd

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/diag/code"
	"github.com/lethe-iac/lethe/internal/explain"
	"github.com/lethe-iac/lethe/internal/operation"
)

// Explain is the command `explain`.
var Explain = &base.Command{
	Name: "explain", Args: "[CODE|TYPE|ADDRESS...]", Short: "Explain an error code, a type of a provider, or a value",
	Long: `Shows the page about a code, such as LE0301: the mistake, a configuration
that makes it, the message, and the correction. The code is in the last line
of each message.

With a type, such as aws_instance or data.aws_ami, or an attribute or a block of
a type, it shows the schema of the provider with an example. With
provider::NAME::FUNCTION, it shows a function of a provider.

With an address, such as aws_instance.web.ami, var.x, local.x, output.x or
module.m.x, it shows where the value comes from, why it is sensitive, ephemeral or
unknown, who uses it, and what a change of it does. For an ephemeral resource, it
shows when the lease is open. It reads only the configuration, and no state. With
-plan, it reads the configuration and the changes in a saved plan. Values are
never shown.

Without an argument, the command lists all codes. With words instead of a code,
it lists the codes whose titles contain these words. A code has precedence over a
type with the same name, and an address over a type.`,
	Examples: [][2]string{
		{"lethe explain LE0301", "Show a mistake, its message and its correction"},
		{"lethe explain aws_instance.ebs_block_device", "Show the arguments of a block"},
		{"lethe explain aws_instance.web.ami", "Show where a value comes from, and who uses it"},
		{"lethe explain -plan=tfplan var.image", "Show the planned changes that a variable affects, too"},
	},
	Setup: base.Flags(func(c *base.Call, f *explainFlags) {
		c.DocumentFlags()
		f.VarFlags(c)
		c.Flags.StringVar(&f.plan, "plan", "", "Explain a value in the configuration of this saved plan `file`, with the planned changes.")
	}, runExplain),
}

type explainFlags struct {
	workdir.Options
	plan string
}

func runExplain(ctx context.Context, c *base.Call, f *explainFlags) int {
	pages, known := pagesOf(c.Operands)
	if f.plan != "" && (known || len(c.Operands) != 1) {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -plan needs the address of one value."))
		return c.UI.Fail()
	}
	switch {
	case len(c.Operands) == 0:
		listCodes(c, code.All())
		return c.UI.Done(base.ExitOK)
	case known:
		showPages(c, pages)
		return c.UI.Done(base.ExitOK)
	case len(c.Operands) > 1:
		return searchCodes(c)
	case !asked().MatchString(c.Operands[0]) && f.plan == "":
		return explainWord(ctx, c, f)
	}
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	x := &asking{session: s, text: c.Operands[0], plan: f.plan}
	return x.run(ctx)
}

// explainWord explains an operand that is one word, and returns the exit code. It shows the type with this name, such
// as the data source "http", which only a provider of the same name has. Without such a type, it searches for the word
// in the titles of codes, and drops the problems of the configuration, because they do not matter to the search.
func explainWord(ctx context.Context, c *base.Call, f *explainFlags) int {
	before := c.Bag.List()
	if word().MatchString(c.Operands[0]) {
		if s, ok := session.Open(c, &f.Options, operation.None); ok && s.Loader.Load() {
			x := &asking{session: s, text: c.Operands[0]}
			if x.typed(ctx, x.named()) {
				return c.UI.DoneDocument()
			}
		}
	}
	c.Bag.Clear()
	c.Bag.Add(before...)
	return searchCodes(c)
}

// asked matches names of types, addresses, and names of functions of providers. The command searches for other words in
// the titles of codes.
var asked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]*(_|\.|\[|::).*$`) })

// word matches names of types that consist of the name of their provider only.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}-]*$`) })

// run answers the question: from the plan of -plan, or else from the configuration of the working directory, or else
// from the schemas of providers. If no source has an answer, run reports an error. It returns the exit code.
func (x *asking) run(ctx context.Context) int {
	c := x.session.Dir.Call
	if x.plan != "" {
		if saved := x.open(ctx); saved != nil {
			x.value(saved)
		}
		return c.UI.DoneDocument()
	}
	if !x.session.Loader.Load() {
		return c.UI.Fail()
	}
	done := x.function(ctx)
	if !done && strings.ContainsAny(x.text, ".[") && !x.session.Loader.Empty() {
		done = x.declared(ctx)
	}
	if !done && !explain.LooksLikeAddress(x.text) {
		done = x.typed(ctx, x.providers())
	}
	if !done {
		x.unknown()
	}
	return c.UI.DoneDocument()
}
