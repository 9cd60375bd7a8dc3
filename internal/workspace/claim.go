package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Claim says which parts of a state a command is about to work on.
type Claim struct {
	Base  *state.Snapshot // the state that its plan was made from
	Fresh *state.Snapshot // the same as refreshed for the plan; nil: it was not
	Parts store.Parts
	// Of gives the parts that a run worked on that left an object so.
	Of func(addr.Object, *state.Entry) store.Parts
}

// Shared reports whether others may work on other parts of the state.
func (s *State) Shared() bool { return s.shared != nil }

// join takes the lock as one of several.
func (s *State) join(ctx context.Context, d store.Divisible, who store.LockInfo, waiting func(*store.LockError)) error {
	// In one directory there is one journal.
	own := store.NewLocal(store.LocalOptions{FS: s.env.FS, Dir: s.env.Data, Path: filepath.Join(s.env.Data, s.req.Name+".run")})
	began := time.Now()
	alone, err := store.Acquire(ctx, own, store.Default, who, s.req.Timeout, waiting)
	if err != nil {
		var held *store.LockError
		if errors.As(err, &held) {
			held.Err = errors.New("another command is in progress in this directory")
		}
		if held != nil || !s.req.Looks {
			return err
		}
		alone = func(context.Context) error { return nil } // the directory cannot be written to: no journal will be, either
	}
	var m store.Member
	err = store.Wait(ctx, max(0, s.req.Timeout-time.Since(began)), waiting, func() (err error) {
		m, err = d.Join(ctx, s.req.Name, who)
		return err
	})
	if err != nil {
		return errors.Join(err, alone(context.WithoutCancel(ctx)))
	}
	s.shared = &shared{member: m, claimed: store.Parts{}}
	s.release = func(ctx context.Context) error { return errors.Join(m.Leave(ctx), alone(ctx)) }
	return nil
}

// Claim takes the parts that a plan works on, waiting for others as long as it may, and reads the state as it is then:
// these parts have to be as the plan found them. It does nothing where the state is the command's alone.
func (s *State) Claim(ctx context.Context, c Claim) bool {
	if s.shared == nil {
		return true
	}
	if c.Base == nil {
		c.Base = &state.Snapshot{}
	}
	if !s.claim(ctx, c.Parts) {
		return false
	}
	now, version, ok := s.present(ctx)
	if !ok || !s.fits(ctx, c, now) {
		return false
	}
	s.shared.base, s.shared.found = c.Base, now
	s.snapshot, s.version = now, version
	return true
}

// present is the state as it is now, which is not read again if it is the one that is known.
func (s *State) present(ctx context.Context) (*state.Snapshot, store.Version, bool) {
	if v, ok := store.As[store.Versioner](s.req.Store); ok {
		if now, err := v.Version(ctx, s.req.Name); err == nil && now == s.version {
			return s.snapshot, s.version, true
		}
	}
	return s.read(ctx)
}

// claim takes parts.
func (s *State) claim(ctx context.Context, p store.Parts) bool {
	waiting := func(*store.LockError) {
		if s.req.Waiting != nil {
			s.req.Waiting()
		}
	}
	if err := store.Wait(ctx, s.req.Timeout, waiting, func() error { return s.shared.member.Claim(ctx, p) }); err != nil {
		s.env.Bag.Add(s.lockProblem(err))
		return false
	}
	for name, use := range p {
		s.shared.claimed[name] |= use
	}
	return true
}

// fits reports whether nothing was changed since that a plan works on.
func (s *State) fits(ctx context.Context, c Claim, now *state.Snapshot) bool {
	if now == c.Base || now.Digest() == c.Base.Digest() && now.Lineage == c.Base.Lineage {
		return true
	}
	var met []string
	if c.Base.Lineage != now.Lineage {
		met = append(met, fmt.Sprintf("its lineage, which was %q and is %q", c.Base.Lineage, now.Lineage))
	}
	same := s.seen(c, now)
	for _, d := range state.Differences(c.Base, now) {
		if d.Object.Mode == addr.Data || same(d.Object) { // a data source was read for the plan, too, and what it is made from is another part
			continue
		}
		e := d.After
		if e == nil {
			e = d.Before
		}
		if _, meet := c.Parts.Meets(c.Of(d.Object, e)); meet {
			met = append(met, d.Object.String())
		}
	}
	for _, name := range state.OutputDifferences(c.Base, now) {
		if parts.ChangesOutput(c.Parts, name) {
			met = append(met, "output."+name)
		}
	}
	if parts.IsWhole(c.Parts) && len(met) == 0 {
		met = append(met, "the state as a whole")
	}
	if len(met) == 0 {
		return true
	}
	if most := 10; len(met) > most {
		met = append(met[:most], fmt.Sprintf("and %d more", len(met)-most))
	}
	s.env.Bag.Add(diag.Errorf("Plan is out of date", "After the state was read for this plan, other runs changed objects that the plan changes or depends on:\n  %s\n\n%sNothing was done. Make a new plan.", strings.Join(met, "\n  "), s.since(ctx, c.Base.Serial)))
	return false
}

// seen tells of an object that another has changed in the state whether the plan was made from just that: refreshing
// had found the same.
func (s *State) seen(c Claim, now *state.Snapshot) func(addr.Object) bool {
	if c.Fresh == nil || c.Fresh == c.Base {
		return func(addr.Object) bool { return false }
	}
	other := map[addr.Object]bool{}
	for _, d := range state.Differences(c.Fresh, now) {
		other[d.Object] = true
	}
	return func(o addr.Object) bool { return !other[o] }
}

// since says who wrote a state after the one with a serial, where the store knows.
func (s *State) since(ctx context.Context, serial uint64) string {
	h, ok := store.As[store.Historian](s.req.Store)
	if !ok {
		return ""
	}
	past, err := h.History(ctx, s.req.Name)
	if err != nil {
		return ""
	}
	var names []string
	for _, p := range past {
		if name := p.Who + " (" + strings.ToLower(strings.TrimPrefix(p.Operation, "OperationType")) + ")"; p.Serial > serial && p.Who != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "The state was written since by " + strings.Join(names, ", ") + ". "
}

// recovered are the parts that a run changed.
func recovered(r *journal.Recovery) store.Parts {
	p := store.Parts{}
	for _, o := range r.Objects {
		parts.Change(p, o.Instance)
	}
	return p
}

// claimRecovered takes the parts that a run changed that was killed, and reads the state again, which stays as it is
// until done.
func (s *State) claimRecovered(ctx context.Context, r *journal.Recovery) (done func(), ok bool) {
	if !s.claim(ctx, recovered(r)) {
		return func() {}, false
	}
	done, err := s.turn()
	if err != nil {
		s.env.Bag.Add(s.lockProblem(err))
		return done, false
	}
	s.snapshot, s.version, ok = s.present(ctx)
	return done, ok
}

// turn waits until no other command that works on the state is about to write it.
func (s *State) turn() (done func(), err error) {
	end, err := s.shared.member.Turn(context.Background())
	if err != nil {
		return func() {}, err
	}
	return func() {
		if err := end(context.Background()); err != nil {
			s.env.Bag.Add(diag.Warningf("Error releasing the state lock", "Error message: %s", err))
		}
	}, nil
}

// lockProblem is why the state cannot be locked. The command that breaks a lock is about the selected workspace.
func (s *State) lockProblem(err error) diag.Diagnostic {
	problem := store.LockDiagnostic(err, "Lethe")
	var held *store.LockError
	if errors.As(err, &held) && held.Held != nil && s.req.Name != s.env.Selected() {
		problem.Detail += fmt.Sprintf("\n\nThe lock is that of the workspace %q, which is not the selected one. Once it is sure that nobody works there any more, break it, with the environment variable %s set to that name: lethe force-unlock %s", s.req.Name, Variable, held.Held.ID)
	}
	return problem
}
