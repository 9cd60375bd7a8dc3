package statecmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/transfer"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Transfer is the command `state transfer`.
var Transfer = &base.Command{
	Name: "state transfer", Args: "ADDRESS...", Short: "Move objects to the state of another directory",
	Long: `Moves objects from the state of this working directory to the state of
another. An address names a resource, an instance, or a module with all
objects in it. Both states may be in any backend, encrypted or not.

Edit both configurations first: the target declares the objects, and the
source declares them no longer. The command plans both directories with
the states after the move. It refuses to move objects that one of the
plans would change. Real objects are not touched.

If the command is interrupted, the next command in one of the directories
finishes or undoes the move, so that each object is in one state.`,
	Examples: [][2]string{
		{"lethe state transfer -to=../network aws_vpc.main", "Move one resource"},
		{"lethe state transfer -to=../network -as=module.vpc module.network", "Move a module, and rename it"},
		{"lethe state transfer -dry-run -to=../network 'aws_subnet.a[\"eu\"]'", "Show both plans without moving anything"},
	},
	Setup: base.Flags(func(c *base.Call, f *transferFlags) {
		c.View.Concise = true
		f.Lock, f.target.Lock, f.Runs, f.target.Runs = true, true, true, true
		c.Flags.StringVar(&f.to, "to", "", "The `directory` whose state receives the objects.")
		c.Flags.StringVar(&f.as, "as", "", "The `address` in the target, if one address is moved and its name changes.")
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Show the move and both plans without moving anything.")
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		c.Flags.DurationVar(&f.LockTimeout, "lock-timeout", 0, "How `long` to wait for a lock that another process holds.")
		f.VarFlags(c)
		f.target.TargetVarFlags(c)
		c.RemoteFlag()
	}, runTransfer),
}

func runTransfer(ctx context.Context, c *base.Call, f *transferFlags) int {
	t := &transferring{f: f}
	t.source.call, t.source.role = c, "source"
	done := t.run(ctx)
	if t.target.call != nil {
		c.Adopt(t.target.call)
	}
	if !done {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

func (t *transferring) run(ctx context.Context) bool {
	request, ok := t.open(ctx)
	if !ok || !t.lock(ctx) {
		return false
	}
	request.Source, request.Target = t.source.ws.Snapshot(), t.target.ws.Snapshot()
	if t.plan, ok = transfer.Between(request, &t.source.call.Bag); !ok {
		return false
	}
	if !t.settled() || !t.fitsSource() || !t.fitsTarget() {
		return false
	}
	c := t.source.call
	if !t.source.planned(ctx, c, t.plan.Source) || !t.target.planned(ctx, c, t.plan.Target(t.declared)) {
		return false
	}
	c.UI.Print(c.Renamed(fmt.Sprintf("Lethe will move %s to %s:\n\n%s\n", diag.Counted(len(t.plan.Moves), "object", "objects"), t.target.name, t.plan.Lines())))
	t.source.show()
	t.target.show()
	if !t.unchanged() {
		return false
	}
	if t.f.dryRun {
		c.UI.Print("\nNothing was moved, because of -dry-run.\n")
		return true
	}
	if !c.Approve(base.Approval{Given: t.f.autoApprove, Title: "Do you want to move these objects?", Use: "-auto-approve", Refused: "Nothing was moved."}) {
		return false
	}
	if ctx.Err() != nil {
		c.Interrupted()
		return false
	}
	writing := workspace.Transfer{
		Source: t.source.ws, Target: t.target.ws, NextSource: t.plan.Source, NextTarget: t.plan.Target(t.used),
		Record: transfer.NewRecord(t.plan, c.Now(), base.Version),
	}
	if !writing.Write(ctx) {
		return false
	}
	c.UI.Print(fmt.Sprintf("\nMoved %s to %s.\n", diag.Counted(len(t.plan.Moves), "object", "objects"), t.target.name))
	return true
}

// open reads the addresses and both configurations. After an error it returns false.
func (t *transferring) open(ctx context.Context) (r transfer.Request, ok bool) {
	c, f := t.source.call, t.f
	if f.to == "" {
		return r, t.invalid("Name the directory whose state receives the objects with -to=DIR.")
	}
	if r.Addresses, ok = workdir.Addresses(c, "address", c.Operands, nil); !ok {
		return r, false
	}
	if f.as != "" {
		as, ok := workdir.Addresses(c, "address", []string{f.as}, nil)
		if !ok {
			return r, false
		}
		r.As = &as[0]
	}
	var err error
	if t.target.call, err = c.In(f.to); err != nil {
		return r, t.invalid("The directory %s of -to cannot be used: %s.", f.to, disk.Reason(err))
	}
	if t.target.name = t.target.call.Dir; filepath.IsLocal(f.to) || strings.HasPrefix(f.to, "..") {
		t.target.name = f.to
	}
	if t.target.call.Dir == c.Dir {
		return r, t.invalid("The directory of -to is this directory. To give an object another address in one state, use \"lethe state mv\".")
	}
	t.target.role = "target " + t.target.name
	f.target.Input, f.target.LockTimeout = f.Input, f.LockTimeout
	return r, t.source.open(ctx, &f.Options) && t.target.open(ctx, &f.target)
}

// open opens a session in the directory of a side and reads its configuration. If a step fails, it reports an error and
// returns false.
func (s *side) open(ctx context.Context, o *workdir.Options) (ok bool) {
	if s.Session, ok = session.Open(s.call, o, operation.Transfer); !ok {
		return false
	}
	return s.Prepare(ctx, "", vet.CheckOptions{})
}

// lock locks both states in the order of the paths of their directories. Without a fixed order, two opposite transfers
// could wait for each other. If a state cannot be locked, if both directories have the same state, or if the source has
// no state, lock reports an error and returns false.
func (t *transferring) lock(ctx context.Context) bool {
	order := []*side{&t.source, &t.target}
	if t.target.call.Dir < t.source.call.Dir {
		slices.Reverse(order)
	}
	for i, s := range order {
		if i == 1 && t.shared(ctx, order[0], s) {
			return t.invalid("Both directories use the same state. To give an object another address in one state, use \"lethe state mv\".")
		}
		var ok bool
		if s.ws, ok = s.Lock(ctx, nil); !ok {
			order[0].States.Unlock()
			s.call.Bag.Annotate("The state belongs to the directory " + s.call.Dir + ". Nothing was moved, and this command holds no lock.")
			return false
		}
	}
	if t.source.ws.Missing() {
		t.source.call.Bag.Add(noState())
		return false
	}
	return true
}

// shared reports whether the two directories have the same state. The state of the first directory is locked already.
// shared returns false if the place of the second state is not known.
func (t *transferring) shared(ctx context.Context, locked, s *side) bool {
	at, ok := s.States.Selected(ctx)
	return ok && at.MachinePlace() != "" && at.MachinePlace() == locked.ws.Place()
}

// settled adds an error and returns false if a moved object has a provider call with an unknown outcome. It also does
// so if an interrupted apply wrote the object with a value of an ephemeral resource that the rest of this apply needs.
func (t *transferring) settled() bool {
	var open []string
	find := func(ws *workspace.State, at func(transfer.Move) addr.Instance) {
		moved := func(i addr.Instance) bool {
			return slices.ContainsFunc(t.plan.Moves, func(m transfer.Move) bool { return at(m) == i })
		}
		for _, u := range ws.Unanswered() {
			if moved(u.Object.Instance) {
				open = append(open, "  "+u.String())
			}
		}
		for _, e := range ws.Earlier() {
			for _, o := range e.Objects {
				if i, err := addr.ParseInstance(o); err == nil && moved(i) {
					open = append(open, "  "+o+": an apply with rounds was interrupted, and the object needs the value of "+e.Lease)
				}
			}
		}
	}
	find(t.source.ws, func(m transfer.Move) addr.Instance { return m.From.Instance })
	find(t.target.ws, func(m transfer.Move) addr.Instance { return m.To.Instance })
	if len(open) > 0 {
		return t.invalid("An earlier run ended before these objects were settled:\n%s\n\nCheck whether the objects exist, and record the result with \"lethe state resolve\", or run \"lethe apply\". Then move them.", strings.Join(open, "\n"))
	}
	return true
}

// planned makes the next plan of a directory, and sets s.next to it. The plan starts from the state after the move,
// which is the argument after. c is the call of the source directory, which is the current directory of the process.
// planned returns false after an error; s.next may be set nevertheless.
func (s *side) planned(ctx context.Context, c *base.Call, after *state.Snapshot) bool {
	req, ok := s.PlanRequest(after)
	if !ok {
		return false
	}
	req.Rounds = true
	c.Work.Store(s.Engine)
	var result *engine.Result
	err := c.Within(s.call, func() { result, ok = s.Engine.Plan(ctx, req, &s.call.Bag) })
	if err != nil {
		s.call.Bag.Add(diag.Errorf("Invalid transfer", "The directory cannot be entered: %s.", disk.Reason(err)))
		return false
	}
	if result != nil {
		s.next = result.Plan
		if result.Interrupted {
			c.Interrupted()
		}
	}
	return ok
}

// show prints the next plan of a directory in short form, one line for each change.
func (s *side) show() {
	lines := ""
	for _, c := range s.next.Changes {
		switch {
		case c.Action != plan.NoOp:
			lines += fmt.Sprintf("  %s %s\n", c.Action, c.Object)
		case c.Importing != nil:
			lines += fmt.Sprintf("  import %s\n", c.Object)
		case c.Was != c.Object:
			lines += fmt.Sprintf("  move %s to %s\n", c.Was, c.Object)
		}
	}
	for _, c := range s.next.Deferred {
		lines += fmt.Sprintf("  decide later about %s\n", c.Subject())
	}
	for _, o := range s.next.Outputs {
		if o.Action != plan.NoOp {
			lines += fmt.Sprintf("  %s output.%s\n", o.Action, o.Name)
		}
	}
	text := " no changes.\n"
	if lines != "" {
		text = "\n" + lines
	}
	s.call.UI.Print("Next plan of the " + s.role + ":" + text)
}

// unchanged adds an error and returns false if the next plan of a directory changes a moved object.
func (t *transferring) unchanged() bool {
	if creates := t.source.touching(t.plan.Moves, func(m transfer.Move) addr.Object { return m.From }); len(creates) > 0 {
		return t.stillPlanned(creates)
	}
	var changed []string
	for _, m := range t.plan.Moves {
		if why := t.changing(m); why != "" {
			changed = append(changed, "  "+why)
		}
	}
	if len(changed) == 0 {
		return true
	}
	t.target.call.UI.Plan(t.target.next, view.PlanOptions{Applying: true, Schemas: t.target.Schemas()})
	t.source.call.Bag.Add(diag.Errorf("Transfer would change objects", "After the move, the next plan of the target %s would change moved objects:\n%s\n\nNothing was moved. Make the configuration of the target equal to the objects, or apply the changes in the source first.", t.target.name, strings.Join(changed, "\n")))
	return false
}

// touching returns the changes and the deferred changes of the next plan of s that concern moved objects. The parameter
// at selects the source or the target address of a move.
func (s *side) touching(moves []transfer.Move, at func(transfer.Move) addr.Object) (out []*plan.Change) {
	for _, c := range slices.Concat(s.next.Changes, s.next.Deferred) {
		if slices.ContainsFunc(moves, func(m transfer.Move) bool {
			return at(m).Instance == c.Object.Instance || at(m).Instance == c.Was.Instance
		}) {
			out = append(out, c)
		}
	}
	return out
}

// changing returns a text if the next plan of the target changes the moved object of m, moves it again, or omits it. It
// returns "" if the plan leaves the object unchanged. The destruction of a deposed object and the replacement of a
// tainted object do not count, because a plan of the source would contain the same change.
func (t *transferring) changing(m transfer.Move) string {
	for _, c := range t.target.next.Changes {
		switch {
		case c.Object != m.To && c.Was != m.To:
		case c.Object != c.Was && c.Was == m.To:
			return fmt.Sprintf("%s: it would move to %s", m.To, c.Object)
		case c.Action == plan.NoOp && c.Importing == nil:
			return ""
		case m.To.IsDeposed() && c.Action == plan.Delete:
			return ""
		case c.Why == plan.ReplaceTainted && t.plan.Entry(m).Tainted:
			return ""
		default:
			return fmt.Sprintf("%s: %s", m.To, c.Action)
		}
	}
	return fmt.Sprintf("%s: the plan does not contain it", m.To)
}
