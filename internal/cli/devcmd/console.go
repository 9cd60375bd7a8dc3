package devcmd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
	"golang.org/x/term"
)

// Console is the command `console`.
var Console = &base.Command{
	Name: "console", Short: "Try Lethe expressions at an interactive command prompt",
	Long: `Starts an interactive console for experimenting with Lethe
interpolations.

This will open an interactive console that you can use to type
interpolations into and inspect their values. This command loads the
current state. This lets you explore and test interpolations before
using them in future configurations. It takes no lock and changes nothing.

An expression can have several lines: it continues while a bracket or a heredoc is
open, or if a line ends with a backslash. From a pipe, all expressions
are evaluated and all results printed. The exit code is 1 if an expression
cannot be evaluated.`,
	Examples: [][2]string{
		{"lethe console", "Try expressions against the state"},
		{"lethe console -scope=module.network", "Try expressions inside a module"},
		{"echo 'cidrhost(var.net, 4)' | lethe console", "Evaluate an expression in a script"},
	},
	Setup: base.Flags(func(c *base.Call, f *consoleFlags) {
		f.StateFlag(c)
		c.Flags.BoolVar(&f.planned, "plan", false, "Make a plan first, and evaluate with the planned values.")
		c.Flags.StringVar(&f.scope, "scope", "", "Evaluate inside this `module`, such as module.network[0], instead of the root module.")
		c.SensitiveFlag()
		c.Flags.Bool("lock", true, "Accepted for compatibility: nothing is changed, so nothing is locked.")
		f.VarFlags(c)
	}, runConsole),
	Result: true,
}

// consoleHelp is the output of "help".
const consoleHelp = `The Lethe console allows you to experiment with Lethe expressions.
You may access resources in the state (if you have one) just as you would
from a configuration. For example: "aws_instance.foo.id" would evaluate
to the ID of "aws_instance.foo" if it exists in your state.

Type in the expression to test and hit <enter> to see the result; <tab>
completes names, and the arrow keys recall earlier lines.

To exit the console, type "exit" and hit <enter>, or use Control-C or
Control-D.
`

// console evaluates the input of a user.
type console struct {
	c     *base.Call
	s     *session.Session
	frame *frame.Frame // the values of the module instance in which expressions are evaluated
	face  frame.Face   // Before for the values of the state, After for planned values
}

type consoleFlags struct {
	workdir.Options
	planned bool
	scope   string
}

func runConsole(ctx context.Context, c *base.Call, f *consoleFlags) int {
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	if !s.Loader.Load() || !s.Loader.Vars.Collect() {
		return c.UI.Fail()
	}
	s.Loader.Vars.LeaveUnset()
	if !s.Compile(ctx, vet.CheckOptions{}) {
		return c.UI.Fail()
	}
	prior, ok := s.States.Read(ctx)
	if !ok {
		return c.UI.Fail()
	}
	con := &console{c: c, s: s, face: frame.Before}
	if !con.look(ctx, prior, f.planned) || f.scope != "" && !con.enter(f.scope) {
		return c.UI.Fail()
	}
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	if base.IsTerminal(c.Stdin) {
		return con.interactive(ctx)
	}
	return until(ctx, con.batch)
}

// look sets c.frame, with which expressions are evaluated. The frame contains the values of the state, or of a new plan
// if planned is true. prior is the state; nil means that it does not exist. After an error, look adds it to the bag and
// returns false.
func (c *console) look(ctx context.Context, prior *state.Snapshot, planned bool) (ok bool) {
	options := c.s.FrameOptions()
	options.Console = true
	if !planned {
		c.frame, ok = c.s.Engine.Frame(ctx, c.s.Program, options, prior, &c.c.Bag)
		return ok
	}
	if prior == nil {
		prior = &state.Snapshot{}
	}
	req, ok := c.s.PlanRequest(prior)
	if !ok {
		return false
	}
	req.Options = options
	result, ok := c.s.Engine.Plan(ctx, req, &c.c.Bag)
	if result == nil || !ok {
		return false
	}
	c.frame, c.face = result.Frame, frame.After
	return true
}

// enter makes the console evaluate later expressions in a module instance. It reports an error and returns false if the
// module instance does not exist.
func (c *console) enter(scope string) bool {
	mi, err := addr.ParseModuleInstance(scope)
	if err != nil {
		c.c.Bag.Add(diag.Errorf("Failed to parse command-line flags", "The module given with -scope cannot be read: %s.", err))
		return false
	}
	c.frame.Expand(mi.Module(), c.face, &c.c.Bag) // Expand determines the instances of the module, because no other code does so for a module without resources
	if at := c.frame.At(mi, c.face); at != nil {
		c.frame = at
		return true
	}
	var known, instances []string
	c.frame.Program().Tree().Root.Walk(func(n *config.Node) {
		if n.Parent == nil {
			return
		}
		frames, _ := c.frame.Expand(n.Path, c.face, &c.c.Bag)
		for _, f := range frames {
			known = append(known, f.Addr().String())
			if n.Path == mi.Module() {
				instances = append(instances, f.Addr().String())
			}
		}
	})
	hint := diag.Meant(diag.Suggest(scope, known))
	if len(instances) > 0 {
		hint = " There are: " + strings.Join(instances, ", ") + "."
	}
	c.c.Bag.Add(diag.Errorf("No such module instance", "The configuration has no module instance %s, which -scope names.%s", scope, hint))
	return false
}

// batch evaluates the expressions on standard input, and returns ExitError if an expression fails.
func (c *console) batch() int {
	src, err := config.ReadStream(c.c.Stdin, c.s.Dir.Settings.Limits.Filled().Bytes)
	if err != nil {
		c.c.Bag.Add(diag.Errorf("Failed to read standard input", "%s.", err))
		return c.c.UI.Fail()
	}
	code := base.ExitOK
	var in input
	for _, line := range strings.Split(string(src), "\n") {
		text, ready := in.add(line)
		if !ready {
			continue
		}
		result, done := c.answer(text)
		if code = max(code, result); done {
			return code
		}
	}
	if text := in.rest(); text != "" {
		code = max(code, c.evaluate(text))
	}
	return code
}

// input collects the lines of an expression.
type input struct {
	pending string // the lines until now; "" between expressions
	inside  bool   // inside brackets or a heredoc
}

// add adds a typed line. If the expression is now complete, add returns the expression and true. Otherwise it returns
// "" and false. It drops a blank line or a comment outside an expression.
func (in *input) add(line string) (text string, ready bool) {
	line = strings.TrimSuffix(line, "\r")
	if in.inside && !frame.MayClose(line) {
		if len(in.pending) <= frame.LongestInput { // collect no more text: an input that is longer is rejected at its end
			in.pending += line + "\n"
		}
		return "", false
	}
	in.pending += line
	in.inside = false
	switch frame.Typed([]byte(in.pending)) {
	case frame.Blank:
		in.pending = ""
		return "", false
	case frame.Open:
		in.inside = !strings.HasSuffix(strings.TrimRight(in.pending, " \t"), `\`)
		if cut, ok := strings.CutSuffix(strings.TrimRight(in.pending, " \t"), `\`); ok {
			in.pending = cut
		}
		in.pending += "\n"
		return "", false
	}
	return in.rest(), true
}

// rest returns the collected text and clears it. A text of several lines ends with a newline, because a heredoc needs
// it.
func (in *input) rest() string {
	text := strings.TrimSpace(in.pending)
	in.pending = ""
	if strings.Contains(text, "\n") {
		text += "\n"
	}
	return text
}

// prompt returns the prompt for an expression, or for its next line.
func (in *input) prompt() string {
	if in.pending != "" {
		return ": "
	}
	return "> "
}

// interactive reads expressions from a terminal, and restores the terminal at the end. A dumb terminal has no line
// editing. If the terminal cannot be set to raw mode, interactive reads it like a pipe. It returns the exit code.
func (c *console) interactive(ctx context.Context) int {
	if c.c.Dumb() {
		return until(ctx, c.lineByLine)
	}
	in := c.c.Stdin.(*os.File)
	fd := int(in.Fd())
	cooked, err := term.MakeRaw(fd)
	if err != nil {
		return until(ctx, c.batch)
	}
	defer term.Restore(fd, cooked)
	return until(ctx, func() int { return c.converse(in, fd, cooked) })
}

// lineByLine evaluates the lines of a terminal without line editing, until the input ends or the user leaves the
// console. It returns ExitOK, even after errors of expressions.
func (c *console) lineByLine() int {
	lines := bufio.NewScanner(c.c.Stdin)
	var typed input
	for {
		c.c.UI.Print(typed.prompt())
		if !lines.Scan() {
			return base.ExitOK
		}
		text, ready := typed.add(lines.Text())
		if !ready {
			continue
		}
		if _, done := c.answer(text); done {
			return base.ExitOK
		}
	}
}

// converse evaluates the lines of a terminal in raw mode, with a history and with completion. cooked is the mode to
// restore while an expression is evaluated. It returns ExitOK if the input ends or the user leaves the console, and
// ExitError if the terminal fails.
func (c *console) converse(in *os.File, fd int, cooked *term.State) int {
	keys := &keyboard{ReadWriter: in}
	t := term.NewTerminal(keys, "> ")
	t.AutoCompleteCallback = c.complete(t)
	var typed input
	for {
		if w, h, err := term.GetSize(fd); err == nil && w > 0 {
			_ = t.SetSize(w, h) // without the size, only the display of long lines is worse
		}
		line, err := t.ReadLine()
		if errors.Is(err, io.EOF) {
			return base.ExitOK
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return base.ExitError
		}
		canceled, garbled := keys.line()
		var reply func() (done bool) // nil if the expression is incomplete
		switch {
		case canceled && line == "" && typed.pending == "":
			return base.ExitOK
		case canceled:
			if typed.pending != "" {
				_, _ = t.Write([]byte("(multi-line entry canceled)\n"))
			}
			typed = input{}
		case unreadable(line, garbled):
			typed = input{}
			reply = func() bool { c.refuse(garbled); return false }
		default:
			if text, ready := typed.add(line); ready {
				reply = func() bool { _, done := c.answer(text); return done }
			}
		}
		t.SetPrompt(typed.prompt())
		if reply == nil {
			continue
		}
		term.Restore(fd, cooked)
		if reply() {
			return base.ExitOK
		}
		if _, err := term.MakeRaw(fd); err != nil {
			return base.ExitError
		}
	}
}

// unreadable reports whether a line may differ from the input of the user. garbled is true if the input had invalid
// UTF-8. A very long line may also differ, because the editor may have dropped its end.
func unreadable(line string, garbled bool) bool {
	return garbled || utf8.RuneCountInString(line) >= longestLine
}

// refuse prints why the line was not evaluated: invalid UTF-8 if garbled is true, otherwise its length.
func (c *console) refuse(garbled bool) {
	d := diag.Errorf("Expression too long", "A typed line may have at most %d characters. Split the expression over several lines, inside brackets or with a backslash at the end of each line, or pipe it in.", longestLine-1)
	if garbled {
		d = diag.Errorf("Invalid character encoding", "The input has bytes that are not UTF-8, shown as question marks. It was not evaluated.")
	}
	c.c.Bag.Add(d)
	c.c.UI.Diagnostics(c.c.Bag.List())
	c.c.Bag.Clear()
}

// answer executes a command of the console ("exit" or "help") or evaluates an expression. It returns the exit code.
// done is true if the user leaves the console.
func (c *console) answer(text string) (code int, done bool) {
	switch text {
	case "exit":
		return base.ExitOK, true
	case "help":
		c.c.UI.Print(consoleHelp)
		return base.ExitOK, false
	}
	return c.evaluate(text), false
}

// evaluate prints the value of an expression or its errors, and returns the exit code.
func (c *console) evaluate(text string) int {
	const name = "<console-input>"
	c.c.Sources.Set(name, []byte(text))
	v, outcome := frame.NewConsole(c.frame, c.face).Eval([]byte(text), name, &c.c.Bag)
	c.c.UI.Diagnostics(c.c.Bag.List())
	failed := c.c.Bag.HasErrors()
	c.c.Bag.Clear()
	if outcome != frame.OK || failed {
		return base.ExitError
	}
	shown, ok := funcs.TypeText(v.Raw, c.frame.EphemeralName)
	if shown = c.c.Secrets.Scrub(shown); !ok { // attributes may have secret names
		shown = view.ValueText(v, 0, c.c.ViewOptions())
	}
	c.c.UI.Print(shown + "\n")
	return base.ExitOK
}

// complete returns the completion function of the terminal. It completes the word before the cursor up to the common
// beginning of all candidates. If this completes nothing, it lists the candidates.
func (c *console) complete(t *term.Terminal) func(string, int, rune) (string, int, bool) {
	names := completions(c.frame)
	return func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		start := strings.LastIndexAny(line[:pos], " \t([{,!+*/%<>=&|?") + 1
		word := line[start:pos]
		found := c.candidates(word, names)
		if len(found) == 0 {
			return line, pos, true // a tab is not part of an expression
		}
		common := found[0]
		for !strings.HasPrefix(found[len(found)-1], common) || !utf8.ValidString(common) { // found is sorted, so all its elements begin with common if the first and the last do
			common = common[:len(common)-1]
		}
		if common == word && len(found) > 1 {
			_, _ = t.Write([]byte(strings.Join(found, "  ") + "\n"))
		}
		return line[:start] + common + line[pos:], start + len(common), true
	}
}

// candidates returns the names that begin with a word, and the members of the value before the last dot of the word,
// sorted. It returns no names for an empty word.
func (c *console) candidates(word string, names []string) []string {
	var out []string
	for _, n := range names {
		if word != "" && strings.HasPrefix(n, word) {
			out = append(out, n)
		}
	}
	if i := strings.LastIndexByte(word, '.'); i > 0 {
		for _, m := range frame.NewConsole(c.frame, c.face).Members(word[:i]) {
			if n := word[:i+1] + m; strings.HasPrefix(n, word) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// completions returns the names with which expressions of a module can begin.
func completions(f *frame.Frame) []string {
	out := []string{"path.cwd", "path.module", "path.root", "terraform.applying", "terraform.workspace", "type("}
	for _, name := range funcs.Names() {
		out = append(out, name+"(")
	}
	here := f.Addr().Module()
	for _, d := range f.Program().Decls() {
		switch {
		case d.Module != here:
		case d.Kind == program.Resource:
			out = append(out, d.Resource.Local())
		case d.Kind == program.Variable:
			out = append(out, "var."+d.Name)
		case d.Kind == program.Local:
			out = append(out, "local."+d.Name)
		case d.Kind == program.Call:
			out = append(out, "module."+d.Name)
		}
	}
	return out
}
