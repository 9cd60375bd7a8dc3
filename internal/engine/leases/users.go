package leases

import (
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Users closes leases of which each receiver names an instance, while planning: each when the last receiver
// that may mean it is over, and not after those that receive others of the same block. In the apply walk such a
// lease is a hold of its own.
type Users struct {
	leases *Leases

	mu sync.Mutex
	of map[program.Decl][]*user // by ephemeral resource: those that are not over
}

// user is a receiver with the instance that it names.
type user struct {
	by    program.Decl
	means receivers.Instance
	over  map[place]bool // where each instance of the receiver means the one with its own key: those that are over
}

// place is an instance of any declaration. Its key is hidden.
type place struct {
	in  addr.ModuleInstance
	key addr.Key
}

// Users gives a list without users.
func (l *Leases) Users() *Users { return &Users{leases: l, of: map[program.Decl][]*user{}} }

// Add counts a receiver in, before the walk. It reports false for one that names no instance: of this the list
// need not be given more.
func (u *Users) Add(d program.Decl) bool {
	named := false
	for _, w := range u.leases.o.Receivers.Received(d) {
		if !u.leases.o.Receivers.ByInstance(w.Of) {
			continue
		}
		for _, x := range w.Instances {
			named = true
			u.of[w.Of] = append(u.of[w.Of], &user{by: d, means: x, over: map[place]bool{}})
		}
	}
	return named
}

// InstanceOver says that one instance of a receiver is over, however it ended.
func (u *Users) InstanceOver(d program.Decl, in addr.ModuleInstance, key addr.Key) {
	at := place{in, key.Hide()}
	for _, w := range u.leases.o.Receivers.Received(d) {
		for _, x := range u.usersOf(w.Of, d) {
			if x.means.Same {
				u.mu.Lock()
				x.over[at] = true
				u.mu.Unlock()
				u.closeUnused(w.Of, at)
			}
		}
	}
}

// Over says that all of a receiver is over.
func (u *Users) Over(d program.Decl) {
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

// may reports whether some instance of the user means an instance of the ephemeral resource.
func (x *user) may(at place) bool { return x.means.Same || x.means.Key.Hide() == at.key }

// closeUnused closes a lease if no user is to come for it.
func (u *Users) closeUnused(e program.Decl, at place) {
	u.mu.Lock()
	used := slices.ContainsFunc(u.of[e], func(x *user) bool { return x.may(at) && !x.over[at] })
	u.mu.Unlock()
	if used {
		return
	}
	info := u.leases.o.Program.Decls()[e]
	inst := info.Resource.In(at.in).Instance(at.key)
	u.leases.CloseInstance(info, inst, frame.After)
	u.leases.CloseInstance(info, inst, frame.Before)
}

// places are the instances of an ephemeral resource that were asked for.
func (l *Leases) places(e program.Decl) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []place
	for _, k := range l.of[e] {
		out = append(out, place{k.instance.Module, k.instance.Key})
	}
	return out
}
