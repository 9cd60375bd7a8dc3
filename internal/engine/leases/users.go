package leases

import (
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Users closes leases (open ephemeral resources) during planning. A receiver is a declaration that uses the value of an
// ephemeral resource. Users handles an ephemeral resource only if each of its receivers names the instance that it
// uses, such as [each.key] or ["a"]. Users closes the lease of an instance as soon as every receiver that may use this
// instance has ended. It does not wait for receivers of other instances, so that no lease stays open longer than
// necessary. An apply does not use Users: package ordering makes a step for the closing of each such lease.
type Users struct {
	leases *Leases

	mu sync.Mutex
	of map[program.Decl][]*user // by ephemeral resource: users that have not ended
}

// user is a receiver (by), and the instance of the ephemeral resource that it names (means). If means.Same is true,
// each instance of the receiver names the instance with the same key.
type user struct {
	by    program.Decl
	means receivers.Instance
	done  map[place]bool // used if means.Same is true: the instances of the receiver that have ended
}

// place identifies an instance of a declaration. key is a result of Key.Hide, so that places of the same instance are
// equal.
type place struct {
	in  addr.ModuleInstance
	key addr.Key
}

// Users returns an empty list of users.
func (l *Leases) Users() *Users { return &Users{leases: l, of: map[program.Decl][]*user{}} }

// Add adds the receiver d. The caller adds all receivers before the walk (the run of the graph). Add returns false and
// ignores d if d names no instance that Users handles.
func (u *Users) Add(d program.Decl) bool {
	named := false
	for _, w := range u.leases.o.Receivers.Received(d) {
		if !u.leases.o.Receivers.ByInstance(w.Of) {
			continue
		}
		for _, x := range w.Instances {
			named = true
			u.of[w.Of] = append(u.of[w.Of], &user{by: d, means: x, done: map[place]bool{}})
		}
	}
	return named
}

// InstanceDone records that one instance of a receiver has ended, with or without success. It closes the leases that
// this instance named and that no other user may need.
func (u *Users) InstanceDone(d program.Decl, in addr.ModuleInstance, key addr.Key) {
	at := place{in, key.Hide()}
	for _, w := range u.leases.o.Receivers.Received(d) {
		for _, x := range u.usersOf(w.Of, d) {
			if x.means.Same {
				u.mu.Lock()
				x.done[at] = true
				u.mu.Unlock()
				u.closeUnused(w.Of, at)
			}
		}
	}
}

// Done records that all instances of a receiver have ended. It closes the leases that the receiver may have named and
// that no other user may need.
func (u *Users) Done(d program.Decl) {
	for _, w := range u.leases.o.Receivers.Received(d) {
		mine := u.usersOf(w.Of, d)
		u.mu.Lock()
		u.of[w.Of] = slices.DeleteFunc(u.of[w.Of], func(x *user) bool { return x.by == d })
		u.mu.Unlock()
		for _, at := range u.leases.places(w.Of) {
			if slices.ContainsFunc(mine, func(x *user) bool { return x.may(at) }) {
				u.closeUnused(w.Of, at)
			}
		}
	}
}

func (u *Users) usersOf(e, d program.Decl) []*user {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []*user
	for _, x := range u.of[e] {
		if x.by == d {
			out = append(out, x)
		}
	}
	return out
}

// may reports whether an instance of the receiver can name the given instance of the ephemeral resource.
func (x *user) may(at place) bool { return x.means.Same || x.means.Key.Hide() == at.key }

// closeUnused closes the leases of one instance of the ephemeral resource e, unless a user that has not ended may name
// the instance.
func (u *Users) closeUnused(e program.Decl, at place) {
	u.mu.Lock()
	used := slices.ContainsFunc(u.of[e], func(x *user) bool { return x.may(at) && !x.done[at] })
	u.mu.Unlock()
	if used {
		return
	}
	info := u.leases.o.Program.Decls()[e]
	inst := info.Resource.In(at.in).Instance(at.key)
	u.leases.CloseInstance(info, inst, frame.After)
	u.leases.CloseInstance(info, inst, frame.Before)
}

// places returns the instances of an ephemeral resource that receivers have requested.
func (l *Leases) places(e program.Decl) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []place
	for _, k := range l.of[e] {
		out = append(out, place{k.instance.Module, k.instance.Key})
	}
	return out
}
