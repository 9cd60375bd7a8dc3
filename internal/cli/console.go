package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/view"
	"golang.org/x/term"
)

var consoleCommand = &Command{
	Name: "console", Short: "Try Lethe expressions at an interactive command prompt",
	Long: `Starts an interactive console for experimenting with Lethe
interpolations.

This will open an interactive console that you can use to type
interpolations into and inspect their values. This command loads the
current state. This lets you explore and test interpolations before
using them in future configurations. It takes no lock and changes nothing.`,
	Flags: func(c *call) {
		c.flags.StringVar(&c.opts.state, "state", "", "Read the state from this `file`.")
		c.flags.BoolVar(&c.opts.showSecrets, "show-sensitive", false, "Show sensitive values.")
		c.flags.Bool("lock", true, "Accepted for compatibility: nothing is changed, so nothing is locked.")
		c.varFlags()
	},
	Run: runConsole,
}

func runConsole(ctx context.Context, c *call) int {
	if !c.noOperands() {
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if !p.load() || !p.collectVariables() || !p.compile(ctx) {
		return c.ui.fail()
	}
	s, ok := p.readState(ctx)
	if !ok {
		return c.ui.fail()
	}
	options := p.langOptions(false)
	options.Console = true
	frame, ok := p.engine.Frame(ctx, p.program, options, s, &p.bag)
	if !ok {
		return c.ui.fail()
	}
	p.ui.Diagnostics(p.bag.List())
	p.bag.Clear()
	if isTerminal(c.Stdin) {
		return p.interactive(frame)
	}
	return p.batch(frame)
}

// batch evaluates the lines of standard input, and fails if one of them does.
func (p *project) batch(f *lang.Frame) int {
	src, err := io.ReadAll(p.Stdin)
	if err != nil {
		return exitError
	}
	code := exitOK
	var pending string
	for _, line := range strings.Split(string(src), "\n") {
		pending += line
		if open(pending) {
			pending += "\n"
			continue
		}
		text := strings.TrimSpace(pending)
		pending = ""
		if text == "exit" {
			break
		}
		if text != "" && !p.evaluate(f, text) {
			code = exitError
		}
	}
	return code
}

// interactive reads expressions from a terminal, with a history and lines that go on while a
// bracket is open.
func (p *project) interactive(f *lang.Frame) int {
	in := p.Stdin.(*os.File)
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return p.batch(f)
	}
	defer term.Restore(int(in.Fd()), old)
	t := term.NewTerminal(in, "> ")
	t.AutoCompleteCallback = p.complete(f)
	var pending string
	for {
		line, err := t.ReadLine()
		if errors.Is(err, io.EOF) {
			return exitOK
		}
		if err != nil {
			return exitError
		}
		pending += line
		if open(pending) {
			pending += "\n"
			t.SetPrompt(": ")
			continue
		}
		text := strings.TrimSpace(pending)
		pending = ""
		t.SetPrompt("> ")
		if text == "exit" {
			return exitOK
		}
		if text == "" {
			continue
		}
		term.Restore(int(in.Fd()), old)
		p.evaluate(f, text)
		if _, err := term.MakeRaw(int(in.Fd())); err != nil {
			return exitError
		}
	}
}

// evaluate prints the value of an expression, or what is wrong with it.
func (p *project) evaluate(f *lang.Frame, text string) bool {
	const name = "<console-input>"
	p.sources.Set(name, []byte(text))
	v, outcome := f.ParseAndEval([]byte(text), name, lang.Before, &p.bag)
	p.ui.Diagnostics(p.bag.List())
	failed := p.bag.HasErrors()
	p.bag.Clear()
	if outcome != lang.OK || failed {
		return false
	}
	p.ui.print(view.ValueText(v, 0, p.viewOptions()) + "\n")
	return true
}

// open reports whether brackets, or a heredoc, are still open in the text.
func open(text string) bool {
	depth := 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '#' || c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	return depth > 0 || strings.HasSuffix(text, "\\")
}

// complete offers names that begin with what stands before the cursor.
func (p *project) complete(f *lang.Frame) func(string, int, rune) (string, int, bool) {
	names := completions(f.Program())
	return func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		start := strings.LastIndexAny(line[:pos], " ([{,") + 1
		word := line[start:pos]
		for _, n := range names {
			if word != "" && strings.HasPrefix(n, word) {
				return line[:start] + n + line[pos:], start + len(n), true
			}
		}
		return "", 0, false
	}
}

// completions are the names that expressions of the root module may begin with.
func completions(p *lang.Program) []string {
	out := funcs.Names()
	for _, d := range p.Decls() {
		switch {
		case !d.Module.IsRoot():
		case d.Kind == lang.Resource:
			out = append(out, d.Resource.Local())
		case d.Kind == lang.Variable:
			out = append(out, "var."+d.Name)
		case d.Kind == lang.Local:
			out = append(out, "local."+d.Name)
		case d.Kind == lang.Call:
			out = append(out, "module."+d.Name)
		}
	}
	return out
}
