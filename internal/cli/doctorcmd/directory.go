package doctorcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view/doctorview"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// directory checks the configuration, the environment variables that set its variables, the providers and the state.
// It checks neither variables nor providers if the configuration cannot be loaded.
func (x *checking) directory(ctx context.Context) {
	l := loader.New(x.dir)
	loaded := false
	x.within("configuration", func() { loaded = l.Load() })
	if loaded {
		x.variables(l)
	}
	if loaded && !l.Empty() {
		x.providers(plugins.New(x.dir), l.Needs())
	}
	s := states.New(l)
	x.call.AtEnd(s.Unlock)
	var at states.Selected
	ok := false
	x.within("state", func() {
		if at, ok = s.Selected(ctx); ok {
			ok = x.state(ctx, at)
		}
	})
	if ok {
		x.lock(at)
		if !x.unreadable {
			x.leases(ctx, at)
		}
		x.copies(ctx, at)
	}
}

// providers adds a finding for each provider that the configuration needs: whether the lock file has it, and whether
// the installed files match. It omits built-in providers. It also adds a note for each provider in the lock file that
// the configuration does not need.
func (x *checking) providers(i *plugins.Installation, needs []fetch.Need) {
	const area = "providers"
	for _, n := range needs {
		p := n.Provider
		lock, locked := x.dir.Lock.Get(p)
		switch {
		case p.IsBuiltin():
			continue
		case i.Developed(p):
			x.add(doctorview.Note, area, p.ForDisplay()+" is a development override or an attached process, so the lock file is not used.", "")
			continue
		case !locked:
			x.add(doctorview.Problem, area, p.ForDisplay()+" is not in the lock file.", "Run: lethe init")
			continue
		}
		name := p.ForDisplay() + " " + lock.Version
		if err := i.Providers.Fits(n, x.dir.Lock); err != nil {
			x.add(doctorview.Problem, area, fmt.Sprintf("%s: %s.", name, err), "Run: lethe init -upgrade")
			continue
		}
		if err := i.Providers.Verify(p, x.dir.Lock); err != nil {
			x.add(doctorview.Problem, area, fmt.Sprintf("%s: %s.", name, strings.TrimSuffix(err.Error(), ".")), "Run: lethe init")
			continue
		}
		x.add(doctorview.OK, area, name+" is installed, and its files match the lock file.", "")
	}
	for _, lock := range x.dir.Lock.Providers() {
		if !slices.ContainsFunc(needs, func(n fetch.Need) bool { return same(n.Provider, lock.Provider) }) {
			x.add(doctorview.Note, area, lock.Provider.ForDisplay()+" "+lock.Version+" is in the lock file, and the configuration does not use it.", "If the state does not use it either, run: lethe init")
		}
	}
}

// same reports whether two addresses mean the same provider in the registries of Terraform and OpenTofu.
func same(a, b addr.Provider) bool { return a.Canon() == b.Canon() }

// state checks the state and the journals of earlier runs. A journal is a file with changes that a killed run did not
// store. state returns false if the store cannot be read. It sets unreadable if the store can be read, but the state in
// the store cannot.
func (x *checking) state(ctx context.Context, at states.Selected) bool {
	found, ok := at.Examine(ctx)
	if !ok {
		return false
	}
	s := found.State
	switch {
	case s.Missing:
		x.add(doctorview.OK, "state", s.Where+" has no state yet.", "")
	case s.Problem != "":
		x.unreadable = true
		x.add(doctorview.Problem, "state", s.Where+": "+s.Problem, "Run: lethe state check")
	case s.Snapshot != nil:
		x.add(doctorview.OK, "state", fmt.Sprintf("%s has %s, serial %d.", s.Where, diag.Counted(s.Snapshot.Len(), "object", "objects"), s.Snapshot.Serial), "")
	}
	for _, same := range found.Twice {
		var names []string
		for _, o := range same {
			names = append(names, o.String())
		}
		x.add(doctorview.Problem, "state", "One real object may be in the state twice: "+strings.Join(names, ", ")+".", "Run: lethe state check")
	}
	journals := found.Stored
	if found.Journal != nil {
		journals = append([]*workspace.JournalReport{found.Journal}, journals...)
	}
	for _, j := range journals {
		switch {
		case j.Running:
			x.add(doctorview.Note, "journals", j.Path+": a run is in progress.", "")
		case j.Problem != "":
			x.add(doctorview.Problem, "journals", j.Path+": "+j.Problem, "Run: lethe state check")
		default:
			x.add(doctorview.Problem, "journals", j.Path+": a run was killed, and the journal has its changes. The next plan or apply recovers them.", "To see them, run: lethe state check")
		}
	}
	return true
}

// lock adds a finding about the lock of the state. For a state that is not in a file, it cannot tell whether a process
// holds the lock, because other stores show a lock only to a command that waits for it.
func (x *checking) lock(at states.Selected) {
	const area = "locks"
	path := at.LockInfo()
	if path == "" {
		x.add(doctorview.OK, area, "The backend "+at.Type+" reports a lock when a command needs it.", "")
		return
	}
	data, err := disk.Read(x.call.FS(), path)
	if err != nil || data == nil {
		x.add(doctorview.OK, area, "Nobody holds the lock of the state.", "")
		return
	}
	held, err := store.ParseLockInfo(data)
	if err != nil {
		x.add(doctorview.Problem, area, "The description of the lock cannot be read.", "If no command runs, remove "+path+".")
		return
	}
	x.add(doctorview.Note, area, fmt.Sprintf("%s has locked the state since %s for %s.", held.Who, held.Created.UTC().Format(time.DateTime)+"Z", held.Operation), "If that command no longer runs, run: lethe force-unlock "+store.ShellCommand(held.ID))
}

// leases adds a finding for each lease, an ephemeral resource that is open according to a journal: a problem, or a note
// if the run that opened the lease is in progress. Without open leases, it adds a finding that no lease is open.
func (x *checking) leases(ctx context.Context, at states.Selected) {
	x.within("leases", func() {
		notes, ok := at.ReadNotes(ctx)
		if !ok {
			return
		}
		for _, l := range notes.Leases {
			if notes.Running != "" && l.Run == notes.Running {
				x.add(doctorview.Note, "leases", l.String()+" is open, and its run is in progress.", "")
				continue
			}
			x.add(doctorview.Problem, "leases", l.String()+" was left open.", "Revoke it, and run: lethe leases close "+store.ShellCommand(l.Object))
		}
		if len(notes.Leases) == 0 {
			x.add(doctorview.OK, "leases", "No known lease was left open.", "")
		}
	})
}

// copies adds a finding for each file with a state that an earlier command could not store, and a finding if the copies
// of the state cannot be listed. It always adds a finding about the clock: a problem if the state or its newest copy
// has a time more than a minute in the future.
func (x *checking) copies(ctx context.Context, at states.Selected) {
	list, err := at.Inventory(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		x.add(doctorview.Problem, "state", fmt.Sprintf("The copies of the state cannot be listed: %s.", err), "Correct the permissions.")
	}
	latest := time.Time{}
	for _, t := range list {
		if t.Kind == workspace.ErroredText {
			x.add(doctorview.Problem, "errored states", t.Where+" contains a state that could not be stored.", "Compare it with the state, and run: lethe state push "+store.ShellCommand(t.Where))
		}
		if t.Time.After(latest) {
			latest = t.Time
		}
	}
	if written := at.Written(); written.After(latest) {
		latest = written
	}
	now := x.call.Now()
	if ahead := latest.Sub(now); ahead > time.Minute {
		x.add(doctorview.Problem, "clock", fmt.Sprintf("The state or a copy of it was written %s in the future.", ahead.Round(time.Second)), "Correct the clock of this machine.")
		return
	}
	x.add(doctorview.OK, "clock", "It is "+now.UTC().Format(time.DateTime)+"Z, and no copy of the state is from the future.", "")
}
