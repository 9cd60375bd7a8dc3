package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// lock is the lock of a command on a workspace. The command either uses the state alone, or shares the state with other
// commands and claims (reserves) the parts that it uses. Only one goroutine may use a lock.
type lock struct {
	env     *Env
	req     *Request
	release func(context.Context) error // releases the lock; nil if the command does not hold the lock
	share   *share                      // nil if the command uses the state alone, or has no lock
}

// share is the membership of a command in the group of commands that share a state.
type share struct {
	participant store.Participant
	claimed     store.Parts
}

// held reports whether the command holds the lock.
func (l *lock) held() bool { return l.release != nil }

// shared reports whether other commands may work on other parts of the state at the same time.
func (l *lock) shared() bool { return l.share != nil }

// claimed returns the parts of the state that the command has claimed, or nil if the state is not shared.
func (l *lock) claimed() store.Parts {
	if l.share == nil {
		return nil
	}
	return l.share.claimed
}

// lockNotice is the time after which the user is told that locking or unlocking takes long. Terraform and OpenTofu use
// the same time.
const lockNotice = 400 * time.Millisecond

// acquire takes the lock, and waits for it up to the timeout of the request. After an error, it adds the error and
// returns false.
func (l *lock) acquire(ctx context.Context) bool {
	waiting := func(*store.LockError) {}
	if l.req.Waiting != nil {
		once := sync.OnceFunc(l.req.Waiting)
		waiting = func(*store.LockError) { once() }
		defer time.AfterFunc(lockNotice, once).Stop()
	}
	who, started := store.NewLockInfo(l.req.Operation.Policy().Lock, l.env.Version), l.env.Now()
	who.Shared = l.req.Shared && l.req.Operation.Policy().ReadOnly
	err := store.ErrNotPartial
	if d := l.req.Store.Capabilities().Concurrent; d != nil && l.req.Operation.Policy().Concurrent {
		err = l.join(ctx, d, who, waiting)
	}
	if errors.Is(err, store.ErrNotPartial) {
		l.release, err = store.Acquire(ctx, l.req.Store, l.req.Name, who, l.req.Timeout, waiting)
	}
	l.env.log(started, err, "lock of workspace %q", l.req.Name)
	if err != nil {
		l.release = nil
		l.env.Bag.Add(l.problem(err))
	}
	return err == nil
}

// replaced adds an error and returns true if the directory does not use the store any more. A command that waits for the
// lock while init moves the state would find no state, and create all objects again.
func (l *lock) replaced() bool {
	if l.req.Replaced == nil {
		return false
	}
	problem, is := l.req.Replaced()
	if is {
		l.env.Bag.Add(problem)
	}
	return is
}

// unlock releases the lock, if the command holds it. It reports an error of the store. Further calls do nothing.
func (l *lock) unlock() {
	if l.release == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if l.req.Releasing != nil {
		defer time.AfterFunc(lockNotice, l.req.Releasing).Stop()
	}
	started := l.env.Now()
	err := l.release(ctx)
	l.env.log(started, err, "unlock of workspace %q", l.req.Name)
	if err != nil {
		l.env.Bag.Add(diag.Errorf("Error releasing the state lock", "Error message: %s\n\nLethe acquires a lock when accessing your state to prevent others\nrunning Lethe to potentially modify the state at the same time. An\nerror occurred while releasing this lock. This could mean that the lock\ndid or did not release properly; you may have to release it with the\n\"force-unlock\" command.", err))
	}
	l.release = nil
}

// join joins the commands that share the state. It also takes a lock on the working directory. waiting is called if
// another process holds one of the locks.
func (l *lock) join(ctx context.Context, d store.ConcurrentStore, who store.LockInfo, waiting func(*store.LockError)) error {
	// the working directory has room for only one journal, so commands in it run one after the other
	own := store.NewLocal(store.LocalOptions{FS: l.env.FS, Dir: l.env.Data, Path: filepath.Join(l.env.Data, l.req.Name+".run")})
	began := time.Now()
	alone, err := store.Acquire(ctx, own, store.Default, who, l.req.Timeout, waiting)
	if err != nil {
		var held *store.LockError
		if errors.As(err, &held) {
			held.Err = errors.New("another command is in progress in this directory")
		}
		if held != nil || !l.req.Operation.Policy().ReadOnly {
			return err
		}
		alone = func(context.Context) error { return nil } // the directory cannot be written, so there is no journal in it to protect
	}
	var m store.Participant
	err = store.Wait(ctx, max(0, l.req.Timeout-time.Since(began)), waiting, func() (err error) {
		m, err = d.Join(ctx, l.req.Name, who)
		return err
	})
	if err != nil {
		return errors.Join(err, alone(context.WithoutCancel(ctx)))
	}
	l.share = &share{participant: m, claimed: store.Parts{}}
	l.release = func(ctx context.Context) error { return errors.Join(m.Leave(ctx), alone(ctx)) }
	return nil
}

// claim claims parts of a shared state, and waits up to timeout for other runs that use them. It claims all parts in p
// or, after an error, none of them.
func (l *lock) claim(ctx context.Context, p store.Parts, timeout time.Duration) error {
	waiting := func(*store.LockError) {
		if l.req.Waiting != nil {
			l.req.Waiting()
		}
	}
	if err := store.Wait(ctx, timeout, waiting, func() error { return l.share.participant.Claim(ctx, p) }); err != nil {
		return err
	}
	for name, use := range p {
		l.share.claimed[name] |= use
	}
	return nil
}

// claimAvailable gets several sets of parts, and claims each set that no other run uses. It returns the parts that
// other runs use. If the store returns another error, or 20 attempts fail, it claims nothing and returns the part that
// represents the whole state.
func (l *lock) claimAvailable(all []store.Parts) (refused store.Parts) {
	refused = store.Parts{}
	for range 20 { // each attempt can find one more part that another run uses
		want := store.Parts{}
		for _, p := range all {
			if !intersects(p, refused) {
				for name, use := range p {
					want[name] |= use
				}
			}
		}
		var part *store.PartError
		err := l.share.participant.Claim(context.Background(), want)
		switch {
		case err == nil:
			return refused
		case errors.As(err, &part):
			refused[part.Part] = store.Changes
		default:
			parts.WholeState(refused)
			return refused
		}
	}
	parts.WholeState(refused)
	return refused
}

// turn waits until no other command that shares the state writes it. Until the caller calls done, no other command
// writes the state. done is never nil, also after an error. If done fails, it reports a warning.
func (l *lock) turn() (done func(), err error) {
	end, err := l.share.participant.Turn(context.Background())
	if err != nil {
		return func() {}, err
	}
	return func() {
		if err := end(context.Background()); err != nil {
			l.env.Bag.Add(diag.Warningf("Error releasing the state lock", "Error message: %s", err))
		}
	}, nil
}

// problem returns the diagnostic for an error of the lock. The hint in such a diagnostic assumes the selected
// workspace, so problem adds another hint if the lock belongs to another workspace.
func (l *lock) problem(err error) diag.Diagnostic {
	problem := store.LockDiagnostic(err, "Lethe")
	var held *store.LockError
	if errors.As(err, &held) && held.Held != nil && l.req.Name != l.env.Selected() {
		problem.Detail += fmt.Sprintf("\n\nThe lock belongs to the workspace %q, which is not selected. If no process uses that workspace any more, set the environment variable %s to its name and run: lethe force-unlock %s", l.req.Name, Variable, store.ShellCommand(held.Held.ID))
	}
	return problem
}

// intersects reports whether a command that uses the parts p and a command that uses the parts q exclude each other.
func intersects(p, q store.Parts) bool {
	_, meet := p.Intersects(q)
	return meet
}
