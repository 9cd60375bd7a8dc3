package secretscmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/rewrite"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/zclconf/go-cty/cty"
)

// move is the edit of the configuration for one target: a secret that is not to be stored any longer.
type move struct {
	target target
	result *rewrite.Result // the edits for target, or advice for an edit by hand
}

// edition is the edited configuration: the texts of its files in draft, and the moves (edits for one secret each).
type edition struct {
	draft  *rewrite.Draft
	moves  []move // the moves that draft contains
	byHand []move // moves that only the user can make
}

// edit makes the edits for all targets (secrets to move) that are not skipped. If a target cannot be edited, edit skips
// it.
func (x *moving) edit(ctx context.Context) *edition {
	given := x.session.Loader.Vars.Given
	e := &edition{draft: rewrite.New(rewrite.Inputs{
		Tree: x.tree, Texts: x.texts, Block: x.block(ctx), Fixed: x.fixed, Exists: x.exists(), Hide: x.report.Hide, Tests: x.tests,
		Given:  func(name string) string { return given[name].From },
		Number: func(of addr.Resource, argument string) bool { return x.numbers[of.String()+"."+argument] },
	})}
	for _, w := range []way{toArgument, toEphemeral, toVariable, toManager} {
		if w == toEphemeral {
			e.draft.Settle(e.results())
		}
		for _, t := range x.targets {
			if t.way != w || x.skipped[t.name] != "" {
				continue
			}
			r := apply(e.draft, t)
			switch {
			case r.Refused != "":
				x.skip(t.name, r.Refused)
			case r.ByHand != nil || r.Advice != "":
				e.byHand = append(e.byHand, move{t, r})
			default:
				e.moves = append(e.moves, move{t, r})
			}
		}
	}
	return e
}

// results returns the results of the moves.
func (e *edition) results() []*rewrite.Result {
	var out []*rewrite.Result
	for _, m := range e.moves {
		out = append(out, m.result)
	}
	return out
}

// byResource returns the moves of an edition, keyed by the resources whose arguments they change.
func (e *edition) byResource() map[addr.Resource][]move {
	out := map[addr.Resource][]move{}
	for _, m := range e.moves {
		for _, r := range m.result.Resources {
			out[r] = append(out[r], m)
		}
	}
	return out
}

// apply makes the edit for the target t in the draft d.
func apply(d *rewrite.Draft, t target) *rewrite.Result {
	switch t.way {
	case toArgument:
		return d.WriteOnly(t.resource, t.stored, t.to)
	case toEphemeral:
		return d.Data(t.resource)
	case toVariable:
		return d.Variable(t.resource.Name)
	}
	return d.Generator(t.resource, t.stored[0])
}

// fixed returns the reason why a file of the configuration must not be changed, or "" if it may be changed.
func (x *moving) fixed(path string) string {
	d := x.session.Dir
	path = d.Call.Path(path)
	for _, dir := range []string{d.Data, d.Vendored()} {
		if dir != "" && strings.HasPrefix(real(path), real(d.Call.Path(dir))+string(filepath.Separator)) {
			return "it belongs to an installed module"
		}
	}
	if x.places[real(path)] > 1 {
		return "other modules have it, too, through symbolic links"
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o200 != 0 {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			f.Close()
			return ""
		}
	}
	return "it is read-only"
}

// filePlaces counts, for each file by its path without symbolic links, the modules of the configuration that contain
// it. A file may be in several modules through symbolic links.
func (x *moving) filePlaces() map[string]int {
	out, seen := map[string]int{}, map[*config.Module]bool{}
	x.tree.Root.Walk(func(n *config.Node) {
		if seen[n.Module] {
			return
		}
		seen[n.Module] = true
		for _, f := range n.Module.Files {
			out[real(x.session.Dir.Call.Path(filepath.Join(n.Module.Dir, filepath.Base(f.Name))))]++
		}
	})
	return out
}

// readTests returns the test files of all modules. It leaves out files that cannot be parsed.
func (x *moving) readTests() []rewrite.Test {
	var out []rewrite.Test
	loader, seen := x.session.Loader, map[string]bool{}
	x.tree.Root.Walk(func(n *config.Node) {
		dir := n.Module.Dir
		if seen[dir] {
			return
		}
		seen[dir] = true
		dirs := []string{dir, filepath.Join(dir, "tests")}
		if n == x.tree.Root {
			dirs = loader.TestDirs()
		}
		sources := &diag.Sources{}
		files, _ := testfile.Read(dirs, loader.Dir.LoadOptions(), sources, &diag.Bag{})
		for _, f := range files {
			out = append(out, rewrite.Test{Name: f.Name, Dir: dir, Text: sources.Get(f.Name)})
		}
	})
	return out
}

// real returns a path without symbolic links. If the path does not exist, real returns it unchanged.
func real(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return path
}

// plan makes a plan with the edited configuration, and returns false after errors. Afterwards the bag of the command
// has the diagnostics of the plan and x.warnings, and no earlier diagnostics.
func (x *moving) plan(ctx context.Context, e *edition) (*engine.Result, bool) {
	s := x.session
	s.Dir.Call.Bag.Clear()
	s.Dir.Call.Bag.Add(x.warnings...)
	if !x.compile(ctx, e) {
		return nil, false
	}
	req, ok := s.PlanRequest(x.snapshot)
	if !ok {
		return nil, false
	}
	settings := s.Engine.Settings
	settings.Sink = event.Discard // the command prints the edits before the plan
	return s.Engine.With(settings).Plan(ctx, req, &s.Dir.Call.Bag)
}

// compile loads and compiles the edited configuration, and asks for missing values of variables. It returns false after
// an error.
func (x *moving) compile(ctx context.Context, e *edition) bool {
	s := x.session
	return s.Loader.LoadOver(e.draft.Changed()) && s.Loader.Vars.Collect() && s.Loader.Vars.AskAll() && s.Compile(ctx, vet.CheckOptions{})
}

// retries changes x for another attempt after a plan with errors, and returns true. A move (edit for one secret) whose
// resources have errors gets a plain number as the version of its write-only argument. If it has no version and -all is
// set, its target is skipped. If no error is about a resource of a move, all moves with versions get plain numbers. If
// no move has a version and -all is set, the moves that do not compile alone are skipped. retries returns false if it
// can change nothing.
func (x *moving) retries(ctx context.Context, e *edition) bool {
	errs, found := e.errors(x.session.Dir.Call.Bag.List()), false
	for _, m := range e.moves {
		for _, r := range slices.Concat([]addr.Resource{m.target.resource}, m.result.Resources, m.result.Versions) {
			d, wrong := errs[r]
			if wrong && len(m.result.Versions) > 0 {
				x.numbers[m.target.name], found = true, true
			} else if wrong && x.flags.all {
				why := strings.Join(strings.Fields(d.Summary+": "+d.Detail), " ")
				x.skip(m.target.name, "The edited configuration has an error: "+x.report.Hide(x.session.Dir.Call.Secrets.ScrubMessage(strings.TrimSuffix(why, ":"))))
				found = true
			}
		}
	}
	if found {
		return true
	}
	for _, m := range e.moves {
		if len(m.result.Versions) > 0 {
			x.numbers[m.target.name], found = true, true
		}
	}
	return found || x.flags.all && x.alone(ctx, e)
}

// errors returns the errors in all that are about resources, by resource. If several errors are about the same
// resource, it returns the last.
func (e *edition) errors(all []diag.Diagnostic) map[addr.Resource]diag.Diagnostic {
	out := map[addr.Resource]diag.Diagnostic{}
	for _, d := range all {
		var about []addr.Resource
		if i, err := addr.ParseInstance(d.Address); err == nil {
			about = append(about, i.Resource())
		} else if d.Subject != nil {
			about = e.draft.At(d.Subject.Filename, d.Subject.Start.Byte)
		}
		for _, r := range about {
			if d.Severity == diag.Error {
				out[r] = d
			}
		}
	}
	return out
}

// alone skips each move whose edits do not compile without the other moves. It returns false if it skipped none.
// Afterwards the bag of the command has the same errors as before.
func (x *moving) alone(ctx context.Context, e *edition) bool {
	bag, targets, skipped := &x.session.Dir.Call.Bag, x.targets, len(x.order)
	errs := bag.List()
	x.halve(ctx, e.moves)
	x.targets = targets
	bag.Clear()
	bag.Add(errs...)
	return len(x.order) > skipped
}

// halve skips each move whose edits do not compile without the other moves. Each compilation parses all files, so halve
// compiles many moves together. If they do not compile, it divides the list and checks each half.
func (x *moving) halve(ctx context.Context, moves []move) {
	x.targets = nil
	for _, m := range moves {
		x.targets = append(x.targets, m.target)
	}
	x.session.Dir.Call.Bag.Clear()
	only := x.edit(ctx)
	switch n := len(moves); {
	case ctx.Err() != nil || len(only.moves) == 0 || x.compile(ctx, only):
	case n == 1:
		x.skip(moves[0].target.name, "The configuration has errors after the edit.")
	default:
		x.halve(ctx, moves[:n/2])
		x.halve(ctx, moves[n/2:])
	}
}

// replacement is an object that the plan replaces because of a move (the edit for one secret).
type replacement struct {
	move   move
	change *plan.Change
}

// replaced returns the replacements in the plan of r of objects whose resources moves change, each with a move that
// causes the replacement. If no cause is found, each move of the resource counts as a cause. If r is nil, it returns
// nil.
func (x *moving) replaced(e *edition, r *engine.Result) []replacement {
	var out []replacement
	if r == nil {
		return nil
	}
	of := e.byResource()
	for _, c := range r.Plan.Changes {
		if !c.Action.Replaces() {
			continue
		}
		var all, causes []replacement
		for _, m := range of[c.Object.Resource()] {
			all = append(all, replacement{m, c})
			if slices.ContainsFunc(c.Replace, func(path cty.Path) bool { return passes(path, m.result.Arguments) }) {
				causes = append(causes, replacement{m, c})
			}
		}
		if len(causes) == 0 {
			causes = all
		}
		out = append(out, causes...)
	}
	return out
}

// passes reports whether the first attribute of a path is one of the names.
func passes(path cty.Path, names []string) bool {
	if len(path) == 0 {
		return false
	}
	step, ok := path[0].(cty.GetAttrStep)
	return ok && slices.Contains(names, step.Name)
}

// refusal returns the reason why a replacement is not acceptable, or "" if it is acceptable.
func (x *moving) refusal(r replacement) string {
	at := r.change.Object.Instance
	if r.move.result.ReadsBack == at.Resource() && r.change.Action != plan.CreateDelete {
		return fmt.Sprintf("The plan destroys %s before it creates it again, and the value is read from this object, so the value would be lost. First move the stored argument of %s, and apply.", at, at.Resource())
	}
	if slices.ContainsFunc(x.permitted, func(t addr.Target) bool { return t.Contains(at) }) {
		return ""
	}
	return fmt.Sprintf("The plan replaces %s. To permit this, use %s.", at, store.ShellCommand("-replace-ok="+at.String()))
}

// leaveOut skips the moves whose replacements are not acceptable. It returns true if it skipped any.
func (x *moving) leaveOut(replaced []replacement) bool {
	found := false
	for _, r := range replaced {
		if why := x.refusal(r); why != "" {
			x.skip(r.move.target.name, why)
			found = true
		}
	}
	return found
}

// refuses reports an error and returns true if a replacement is not acceptable.
func (x *moving) refuses(replaced []replacement) bool {
	for _, r := range replaced {
		if why := x.refusal(r); why != "" {
			x.session.Dir.Call.Bag.Add(notMoved("%s No file was changed.", why))
			return true
		}
	}
	return false
}

// loss is a move after which a generated value, such as a password, would be stored nowhere. The field why is the
// reason.
type loss struct {
	move move
	why  string
}

// lost returns the moves of generated values whose secret manager stores another value, for example because another
// program has changed it. After such a move, the generated value would be lost. If r is nil, lost returns nil.
func (e *edition) lost(r *engine.Result) []loss {
	var out []loss
	if r == nil {
		return nil
	}
	// A module may have several instances in the plan. Generators and secret managers whose values move have no
	// instance key.
	current, modules := map[addr.AbsResource]*plan.Change{}, map[addr.Resource][]addr.ModuleInstance{}
	for _, c := range r.Plan.Changes {
		if o := c.Object; o.Key.IsNone() && !o.IsDeposed() {
			current[o.Abs()] = c
			modules[o.Resource()] = append(modules[o.Resource()], o.Module)
		}
	}
	for _, m := range e.moves {
		if m.target.way != toManager {
			continue
		}
		attribute := strings.TrimSuffix(m.result.Arguments[0], "_wo")
		for _, in := range modules[m.target.resource] {
			generator, manager := m.target.resource.In(in), m.result.ReadsBack.In(in)
			generated, stored := textBefore(current[generator], m.target.stored[0]), textBefore(current[manager], attribute)
			if generated != "" && stored != "" && generated != stored {
				out = append(out, loss{m, fmt.Sprintf("%s of %s has another value than %s.%s, so the generated value would be nowhere afterwards. Decide which value counts, and apply, before the value moves.", attribute, manager, generator, m.target.stored[0])})
				break
			}
		}
	}
	return out
}

// textBefore returns the text that an attribute has before a change. It returns "" if the change is nil, or if the
// attribute is missing, null, unknown or no text.
func textBefore(c *plan.Change, attribute string) string {
	if c == nil || c.Before.Raw == cty.NilVal {
		return ""
	}
	v := c.Before.Raw
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute(attribute) {
		return ""
	}
	if v = v.GetAttr(attribute); v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// leaveOutLost skips the moves in lost, after which a generated value would be stored nowhere. It returns true if it
// skipped any.
func (x *moving) leaveOutLost(lost []loss) bool {
	for _, l := range lost {
		x.skip(l.move.target.name, l.why)
	}
	return len(lost) > 0
}

// finish prints which secrets the planned state still stores. Unless -dry-run is set, it writes the edited files. It
// returns the exit code.
func (x *moving) finish(ctx context.Context, e *edition, r *engine.Result) int {
	c := x.session.Dir.Call
	x.judge(e, r.Plan)
	if x.flags.dryRun {
		c.UI.Print("\nNo file was changed, because of -dry-run.\n")
		return c.UI.Done(base.ExitOK)
	}
	var edits []disk.Edit
	var names []string
	e.draft.Each(func(f rewrite.File) {
		names = append(names, f.Name)
		edits = append(edits, disk.Edit{Path: c.Path(f.Path), Old: f.Before, New: f.After})
	})
	err := ctx.Err()
	if err == nil {
		err = disk.ReplaceAll(c.FS(), edits)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("the command was interrupted")
		}
		c.Bag.Add(notMoved("The files cannot be written: %s. All files have their former content, unless the message names another.", err))
		return c.UI.Fail()
	}
	c.UI.Print(fmt.Sprintf("\n%s edited: %s.\n\nNext, apply the plan with \"lethe apply\". Then remove the values from copies with \"lethe secrets scrub\".\n",
		diag.Counted(len(names), "file was", "files were"), view.EscapeLine(strings.Join(names, ", "))))
	return c.UI.Done(base.ExitOK)
}

// judge prints the moved secrets that the planned state still stores, or, because values are unknown, may still store.
func (x *moving) judge(e *edition, p *plan.Plan) {
	c := x.session.Dir.Call
	kept, unsure := map[string]bool{}, map[string]bool{}
	of := e.byResource()
	for _, ch := range p.Changes {
		for _, m := range of[ch.Object.Resource()] {
			k, u := holds(ch.After.Raw, m.target.stored)
			kept[m.target.name] = kept[m.target.name] || k || ch.Unchanged
			unsure[m.target.name] = unsure[m.target.name] || u
		}
	}
	for _, m := range e.moves {
		switch name := m.target.name; {
		case m.target.way != toArgument:
		case kept[name]:
			c.UI.Print(view.EscapeLine(name) + ": the planned state still has the value, because the provider decides the value of this argument. The state stores it until the provider reads the object again. After the apply, run \"lethe apply -refresh-only\", and verify with \"lethe secrets\".\n")
		case unsure[name]:
			c.UI.Print(view.EscapeLine(name) + ": the provider decides during the apply which value the state stores. Verify afterwards with \"lethe secrets\".\n")
		}
	}
}

// holds reports whether a value has something at the path of names (held), and whether a value on the path is unknown
// (unknown). Null and "" count as nothing. The path has no keys: it leads through all elements of a collection.
func holds(v cty.Value, names []string) (held, unknown bool) {
	switch {
	case v == cty.NilVal || v.IsNull():
		return false, false
	case !v.IsKnown():
		return false, true
	case len(names) > 0 && v.Type().IsObjectType():
		if !v.Type().HasAttribute(names[0]) {
			return false, false
		}
		return holds(v.GetAttr(names[0]), names[1:])
	case v.CanIterateElements():
		for _, e := range v.Elements() {
			h, u := holds(e, names)
			held, unknown = held || h, unknown || u
		}
		return held, unknown
	}
	return len(names) == 0 && (v.Type() != cty.String || v.AsString() != ""), false
}
