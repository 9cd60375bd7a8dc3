package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/remotestore"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Init settles which store is used from now on, moves what another one has if that is wanted, and
// writes it down. configured is the type of a backend that is used for the first time, or otherwise
// than before; "" for none.
func (d *Directory) Init(ctx context.Context, req InitRequest) (configured string, ok bool) {
	declared, ok := d.declared()
	if !ok {
		return "", false
	}
	next, ok := d.overridden(declared, req.Overrides)
	if !ok {
		return "", false
	}
	before, ok := d.remembered()
	if !ok && !req.Reconfigure {
		return "", false
	}
	if before != nil && before.Type == remotestore.Cloud.Name && next.driver.Name == before.Type {
		req.Reconfigure = true // another workspace is chosen, as Terraform has it: what is in the former one stays there
	}
	block := d.block()
	was := implied()
	if before != nil && !req.Reconfigure {
		if was, ok = d.settingsOf(before); !ok {
			return "", false
		}
		was = was.with(declared)
		if len(req.Overrides) == 0 && block != nil && was.driver.Name == next.driver.Name && before.saw(declared, was) {
			next = was // what -backend-config said when it was last given
		}
	}
	next = d.asked(ctx, next, req)
	m := migration{Directory: d, req: req, was: was, next: next}
	defer m.end()
	moves := !req.Reconfigure && !was.same(next)
	if moves && !m.migrate(ctx, before != nil) {
		return "", false
	}
	first := before == nil
	if !first && !d.remember(declared, next, d.Env.Bag) {
		return "", false
	}
	names, ok := d.try(ctx, next)
	if !ok || first && !d.remember(declared, next, d.Env.Bag) || !d.reselect(names, req) {
		return "", false // what is used for the first time, and does not work, is not remembered
	}
	if !m.putAside() {
		return "", false
	}
	if moves && block == nil && before != nil {
		req.Unset(before.Type)
	}
	if block != nil && (req.Reconfigure || before == nil || !was.same(next)) {
		configured = block.Type
	}
	return configured, true
}

// asked are settings with those that the store needs and nobody has said, as far as the user answers.
func (d *Directory) asked(ctx context.Context, s settings, req InitRequest) settings {
	for {
		_, err := d.bare(ctx, s)
		var bad *store.SettingError
		if !errors.As(err, &bad) || !bad.Missing || len(bad.Path) != 1 || req.Setting == nil {
			return s // opening it says what is wrong
		}
		of := s.driver.Schema.Attribute(bad.Path)
		if of == nil || of.Type != cty.String {
			return s
		}
		text, ok := req.Setting(of.Name, of.Description, of.Sensitive)
		if !ok || text == "" {
			return s
		}
		attrs := s.config.AsValueMap()
		attrs[of.Name] = cty.StringVal(text)
		s.config = cty.ObjectVal(attrs)
	}
}

// try opens the store once, so that wrong settings are found now. It returns the workspaces that the store has.
func (d *Directory) try(ctx context.Context, s settings) (workspaces []string, ok bool) {
	st, ok := d.open(ctx, s)
	if !ok {
		return nil, false
	}
	names, err := st.List(ctx)
	if named, ok := store.As[store.Namer](st); ok && err == nil {
		err = named.Prepare(ctx)
	}
	if err != nil {
		d.Env.Bag.Add(d.unusable(s, err))
		return nil, false
	}
	return names, true
}

// unusable is why a store that was opened does not do what it is asked for.
func (d *Directory) unusable(s settings, err error) diag.Diagnostic {
	return d.inBlock(diag.Errorf("Failed to use the backend", "The backend %q cannot be used: %s.\n\nCheck that it can be reached from here, and that its settings and the credentials for it are right.", s.driver.Name, err), s.driver.Schema)
}

// reselect sees to it that the selected workspace is one of the store, for one that does not have the default one.
func (d *Directory) reselect(names []string, req InitRequest) bool {
	selected, chosen := d.Env.Selected(), ""
	switch {
	case slices.Contains(names, selected) || slices.Contains(names, store.Default):
		return true
	case d.Env.Getenv(workspace.Variable) != "":
	case len(names) == 1:
		chosen = names[0]
	case len(names) > 1:
		chosen = req.Choose(selected, names)
	}
	if chosen != "" {
		return d.choose(chosen)
	}
	there := "There are none yet: make one with \"lethe workspace new NAME\""
	if len(names) > 0 {
		there = "Select one of these with \"lethe workspace select NAME\" or TF_WORKSPACE: " + strings.Join(names, ", ")
	}
	d.Env.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", selected), "It is the selected workspace, and the backend has none of that name. %s.", there))
	return false
}

// migration takes states from one store into another.
type migration struct {
	*Directory
	req       InitRequest
	was, next settings
	// left are the files of a directory without a backend block whose states were copied elsewhere. They stay where
	// they are, and locked, until all is copied and the new backend is remembered.
	left []left
}

// left is a file whose state is elsewhere now.
type left struct {
	*store.Local
	locked    *workspace.State
	workspace string
}

// end releases what is still locked.
func (m *migration) end() {
	for _, l := range m.left {
		l.locked.Unlock()
	}
}

// putAside renames the files that are left to backups: one in the place of a directory without a backend block is taken
// for a state in use. Init of Terraform or OpenTofu that has moved a state elsewhere leaves an empty file in its place.
func (m *migration) putAside() bool {
	for _, l := range m.left {
		if err := l.SetAside(l.workspace); err != nil {
			m.Env.Bag.Add(diag.Errorf("Failed to move the state", "The state was copied to the new backend, but its file cannot be renamed: %s. Remove that file: it would be taken for a state that is in use.", disk.Reason(err)))
			return false
		}
	}
	return true
}

// migrate moves the states, if there are any and the user agrees. configured says that the former backend was set up by
// init, and is no mere file of the directory.
func (m *migration) migrate(ctx context.Context, configured bool) bool {
	d, req, was, next := m.Directory, m.req, m.was, m.next
	if configured && !req.Migrate && !req.ForceCopy {
		d.Env.Bag.Add(diag.Errorf("Backend configuration changed", "A change in the backend configuration has been detected, which may require migrating existing state.\n\nIf you wish to attempt automatic migration of the state, use \"lethe init -migrate-state\".\nIf you wish to store the current configuration with no changes to the state, use \"lethe init -reconfigure\"."))
		return false
	}
	from, ok1 := d.former(ctx, was)
	to, ok2 := d.open(ctx, next)
	if !ok1 || !ok2 {
		return false
	}
	if sameFiles(from, to) {
		return true
	}
	if sharer, ok := store.As[store.Sharer](to); ok {
		if a, b, shared := sharer.Share(from); shared {
			if from = a; a == nil {
				return true
			}
			if to, ok = d.sealed(b); !ok {
				return false
			}
		}
	}
	if !d.allRead(ctx, was, from) {
		return false
	}
	names, err := d.filled(ctx, from)
	if err != nil {
		d.Env.Bag.Add(formerly(was, err))
	}
	if len(names) == 0 {
		return err == nil
	}
	if !req.ForceCopy {
		if copies, answered := req.Copies(was.driver.Name, next.driver.Name); !copies {
			return answered
		}
	}
	if store.Single(ctx, to) && !slices.Equal(names, []string{store.Default}) {
		return m.copySelected(ctx, from, to, names)
	}
	for _, name := range names {
		if sameFile(from, to, name) {
			continue // it is there already
		}
		target, ok := d.renamed(ctx, name, to, next, req)
		if !ok || !m.copyState(ctx, way{from, to, name, target}, !configured) {
			return false
		}
		if name != target && !d.choose(target) {
			return false
		}
	}
	return true
}

// allRead refuses to move states out of a store that has more of some than is read there.
func (d *Directory) allRead(ctx context.Context, was settings, from store.Store) bool {
	left, variable, err := store.LeftUnread(ctx, from)
	switch {
	case err != nil:
		d.Env.Bag.Add(formerly(was, err))
	case len(left) > 0:
		d.Env.Bag.Add(diag.Errorf("Existing state would be left behind", "In the previous backend %q there is what runs have recorded of these workspaces, and not written into their states: %s. They were lost, or go on. To have it taken in, set the environment variable %s to true, and run this again. To leave all of it where it is, use -reconfigure.", was.driver.Name, strings.Join(left, ", "), variable))
	}
	return err == nil && len(left) == 0
}

// renamed is what a workspace is called in another store: the default one needs a name where there is no such.
func (d *Directory) renamed(ctx context.Context, name string, to store.Store, next settings, req InitRequest) (string, bool) {
	if name != store.Default || store.Single(ctx, to) {
		return name, true
	}
	there, err := to.List(ctx)
	if err != nil {
		d.Env.Bag.Add(d.unusable(next, err))
		return "", false
	}
	if slices.Contains(there, name) {
		return name, true
	}
	if name = cmp.Or(d.Env.Getenv(workspace.Variable), req.Rename()); name != "" {
		return name, true
	}
	d.Env.Bag.Add(diag.Errorf("The default workspace needs a name", "The new backend has no workspace %q, and the previous one has a state in it. Set %s to a name for that workspace in the new backend, or use -reconfigure to leave the state where it is.", store.Default, workspace.Variable))
	return "", false
}

// choose makes a workspace the selected one.
func (d *Directory) choose(name string) bool {
	if d.Env.Getenv(workspace.Variable) != "" {
		return true
	}
	if err := d.Env.Select(name); err != nil {
		d.Env.Bag.Add(diag.Errorf("Failed to select the workspace", "%s.", err))
		return false
	}
	return true
}

// copySelected copies the selected workspace into a store that keeps one state. The others stay where they are.
func (m *migration) copySelected(ctx context.Context, from, to store.Store, names []string) bool {
	d, next := m.Directory, m.next
	selected := d.Env.Selected()
	if !slices.Contains(names, selected) {
		d.Env.Bag.Add(diag.Errorf("Workspaces not supported", "The backend %q keeps only one state, and the selected workspace %q has none that could be copied there. Select one of these first: %s.", next.driver.Name, selected, strings.Join(names, ", ")))
		return false
	}
	if !m.copyState(ctx, way{from, to, selected, store.Default}, false) {
		return false
	}
	if others := slices.DeleteFunc(names, func(n string) bool { return n == selected }); len(others) > 0 {
		d.Env.Bag.Add(diag.Warningf("Workspaces left behind", "The backend %q keeps only one state, and that of the workspace %q was copied there. The states of these workspaces stay in the previous backend: %s.", next.driver.Name, selected, strings.Join(others, ", ")))
	}
	return d.choose(store.Default)
}

// way is from where to where a state goes.
type way struct {
	from, to       store.Store
	source, target string // workspaces
}

// copyState copies one workspace, both sides locked, and reads the copy back. The original stays where it is; moves says
// that its file is to be put aside.
func (m *migration) copyState(ctx context.Context, w way, moves bool) (ok bool) {
	d := m.Directory
	lock := m.req.Lock
	lock.Store, lock.Name, lock.Operation = w.from, w.source, "migration source state"
	source, ok := workspace.Lock(ctx, d.Env, lock)
	if !ok {
		return false
	}
	if local, is := store.As[*store.Local](w.from); is && moves {
		m.left = append(m.left, left{local, source, w.source})
	} else {
		defer source.Unlock()
	}
	if !source.Stored() {
		return true // what a killed run recorded came to nothing
	}
	lock.Store, lock.Name, lock.Operation, lock.Replaces = w.to, w.target, "migration destination state", true
	target, ok := workspace.Lock(ctx, d.Env, lock)
	if !ok {
		return false
	}
	defer target.Unlock()
	next := source.Snapshot()
	if have := target.Snapshot(); target.Stored() {
		if state.Equal(have, next) && have.Serial == next.Serial {
			return true // as it is after a migration that did not come to its end
		}
		if why := ahead(have, next); why != "" && have.Len()+len(have.Outputs) > 0 && !m.req.ForceCopy {
			d.Env.Bag.Add(diag.Errorf("The new backend has a state already", "The workspace %q has a state in both backends, and %s. Use -force-copy to overwrite the one in the new backend, or -reconfigure to use it as it is.", w.source, why))
			return false
		}
		if have.Serial >= next.Serial {
			e := next.Edit()
			e.Head().Serial = have.Serial + 1 // services and programs take a lower one for an older state
			next = e.Done()
		}
	}
	if !target.Put(next) {
		return false
	}
	if copied, ok := workspace.Read(ctx, d.Env, w.to, w.target); !ok || !sameState(copied, next) {
		d.Env.Bag.Add(diag.Errorf("Copied state differs", "The state of the workspace %q was written to the new backend, which gives back another one. The previous backend still has the state, and stays in use.", w.target))
		return false
	}
	return true
}

// sameState reports whether a copy is the state that was written. A server may keep the document and not its text: it may
// write the members of objects in another order, and numbers and strings in another spelling.
func sameState(copied, written *state.Snapshot) bool {
	if copied.Serial == written.Serial && state.Equal(copied, written) {
		return true
	}
	var documents [2]any
	for i, s := range []*state.Snapshot{copied, written} {
		text, err := s.Bytes()
		if err != nil {
			return false
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&documents[i]) != nil {
			return false
		}
	}
	return sameJSON(documents[0], documents[1])
}

// sameJSON compares decoded documents. Numbers are compared by their values.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case json.Number:
		b, ok := b.(json.Number)
		x, err1 := cty.ParseNumberVal(a.String())
		y, err2 := cty.ParseNumberVal(b.String())
		return ok && (a == b || err1 == nil && err2 == nil && x.RawEquals(y))
	}
	return a == b
}

// ahead says why a state is not to be replaced by another one: "" if it is an earlier one of the same.
func ahead(have, next *state.Snapshot) string {
	switch {
	case have.Lineage != next.Lineage:
		return "they do not descend from one another"
	case have.Serial > next.Serial:
		return fmt.Sprintf("the one in the new backend is newer: its serial is %d, that in the previous one is %d", have.Serial, next.Serial)
	case have.Serial == next.Serial:
		return "they were changed independently of one another"
	}
	return ""
}
