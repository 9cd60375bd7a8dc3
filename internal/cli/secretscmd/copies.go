package secretscmd

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// scrubFlags are the flags of the command secrets scrub.
type scrubFlags struct {
	workdir.Options
	autoApprove, dryRun, lastCopy, versions bool
}

// scrubbing is one run of the command secrets scrub.
type scrubbing struct {
	collection
	flags   *scrubFlags
	places  []*audit.Place                // all examined places: the state, and files and versions with copies of it
	removal *audit.Removal                // the values to remove, and the copies that contain them
	planned []string                      // plan files that contain a value to remove
	doomed  []*store.ServiceVersion       // versions in the service that contain a value and still exist
	changed int                           // number of changed copies
	renamed map[state.Digest]state.Digest // the new digest of each state that changes, by its old digest; nil before the first call of digests
}

// say prints a text, unless the output is JSON.
func (x *scrubbing) say(format string, a ...any) {
	if c := x.session.Dir.Call; !c.View.JSON {
		c.UI.Print(fmt.Sprintf(format, a...))
	}
}

// variables returns a function that reports whether a text is a whole string in the value of a root variable. If the
// configuration cannot be read, the function always returns false.
func (x *scrubbing) variables() func(string) bool {
	s := x.session
	known := map[string]bool{}
	aside(&s.Dir.Call.Bag, func() {
		if s.Loader.Load() && s.Loader.Vars.Collect() {
			for _, given := range s.Loader.Vars.Given {
				texts(given, known)
			}
		}
	})
	return func(value string) bool { return known[value] }
}

// aside runs f and returns the diagnostics that f adds to bag as sentences. Afterwards bag has the same diagnostics as
// before.
func aside(bag *diag.Bag, f func()) string {
	before := bag.List()
	bag.Clear()
	f()
	text := problems(bag)
	bag.Clear()
	bag.Add(before...)
	return text
}

// texts adds the strings in a given value of a root variable to known.
func texts(given frame.Given, known map[string]bool) {
	if given.IsText {
		known[given.Text] = true
		return
	}
	secret.Leaves(given.Value, func(_ cty.Path, _ cty.Value, text string) { known[text] = true })
}

// findPlans examines the plan files in the working directory, except the files in named, and returns their names. If a
// plan cannot be read, findPlans records this problem and still returns its name. It returns nil if the directory
// cannot be read.
func (x *scrubbing) findPlans(ctx context.Context, named []string) []string {
	c := x.session.Dir.Call
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		info, err := os.Stat(c.Path(name)) // os.Stat follows symbolic links, so a link to a plan counts as a plan
		if err != nil || !info.Mode().IsRegular() || slices.Contains(named, name) || !isPlan(c.Path(name)) {
			continue
		}
		out = append(out, name)
		ok := false
		problem := aside(&c.Bag, func() { ok = x.savedPlans(ctx, []string{name}) })
		if !ok {
			x.unread(audit.Place{Kind: audit.Plan, Name: name}, problem)
		}
	}
	return out
}

// isPlan reports whether a file is a saved plan of Lethe or of Terraform: a zip archive with a member tfplan, or an
// encrypted file that is not a state. If the file cannot be read, isPlan returns false.
func isPlan(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 4)
	if _, err := io.ReadFull(f, begin); err != nil {
		return false
	}
	if bytes.HasPrefix(begin, []byte("PK")) {
		z, err := zip.OpenReader(path)
		if err != nil {
			return false
		}
		defer z.Close()
		return slices.ContainsFunc(z.File, func(m *zip.File) bool { return m.Name == "tfplan" })
	}
	if begin[0] != '{' {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && crypt.Sealed(data) && !crypt.IsState(data)
}

// withValues returns the names in plans of the plan files that contain a value to remove, in the order of plans. A plan
// that Lethe cannot read, such as a plan of another program, is searched as a zip archive. An encrypted plan that Lethe
// cannot read is not searched, and so is not returned.
func (x *scrubbing) withValues(plans []string, r *audit.Report) []string {
	has := map[string]bool{}
	for _, s := range x.removal.Secrets {
		for _, p := range s.Copies {
			has[p.Name] = has[p.Name] || p.Kind == audit.Plan
		}
	}
	for _, p := range r.Places {
		if p.Kind == audit.Plan && p.Problem != "" && x.inMembers(x.session.Dir.Call.Path(p.Name)) {
			has[p.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(plans), func(name string) bool { return !has[name] })
}

// mostOfMember is the number of uncompressed bytes at the beginning of an archive member that inMembers searches.
const mostOfMember = 1 << 30

// inMembers reports whether a member of a zip archive contains a value to remove. If path is not a zip archive,
// inMembers returns false. It skips the members that cannot be read.
func (x *scrubbing) inMembers(path string) bool {
	z, err := zip.OpenReader(path)
	if err != nil {
		return false
	}
	defer z.Close()
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(io.LimitReader(r, mostOfMember))
		r.Close()
		if x.removal.Has(data) {
			return true
		}
	}
	return false
}

// change removes the secrets in x.removal from all copies of the state: it changes journals and states, and deletes
// plan files. With the option -versions, it also deletes versions in the service of the backend. It reports an error
// for each copy that it cannot change, and continues. After an interrupt, it changes no further copy. It changes
// journals before states, because it must compute the new digests of the states from their former content.
func (x *scrubbing) change(ctx context.Context) {
	c := x.session.Dir.Call
	var steps []func()
	for _, kind := range []workspace.TextKind{workspace.JournalText, workspace.BackupText, workspace.ErroredText} {
		for _, t := range x.texts {
			if t.Path != "" && t.Kind == kind {
				steps = append(steps, func() { x.note(t.Where, x.changeFile(ctx, &t)) })
			}
		}
	}
	if x.at.Capabilities().Rewriter != nil {
		steps = append(steps, func() { x.changeFormer(ctx) })
	}
	if x.flags.versions {
		for _, v := range slices.Clone(x.doomed) {
			steps = append(steps, func() { x.deleteVersion(ctx, v) })
		}
	}
	for _, name := range x.planned {
		steps = append(steps, func() { x.deletePlan(name) })
	}
	for n, step := range steps {
		if ctx.Err() != nil {
			break
		}
		c.UI.Send(event.Transfer{Name: changingCopies, Done: int64(n), All: int64(len(steps)), Unit: "copies"})
		step()
	}
	c.UI.Send(event.Transfer{Name: changingCopies, Unit: "copies", Ended: true})
	x.say("%s changed or deleted.\n", diag.Counted(x.changed, "copy was", "copies were"))
}

const changingCopies = "Copies of the state"

// note adds the error that the copy called name could not be changed because of err to the diagnostics of the command.
// It ignores a nil error and an interrupt (context.Canceled).
func (x *scrubbing) note(name string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		x.session.Dir.Call.Bag.Add(diag.Errorf("Copy not changed", "The values cannot be removed from %s: %s. Delete it if you do not need it.", name, strings.TrimSuffix(disk.Reason(err).Error(), ".")))
	}
}

// deletePlan deletes a plan file. If the plan is a symbolic link, it also deletes the file to which the link leads. It
// ignores a missing file, and reports any other error.
func (x *scrubbing) deletePlan(name string) {
	c := x.session.Dir.Call
	path := c.Path(name)
	file, err := disk.Resolve(c.FS(), path)
	if err == nil {
		err = c.FS().Remove(file)
	}
	if err == nil && file != path {
		err = c.FS().Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if x.note(name, err); err == nil {
		x.changed++
	}
}

// deleteVersion deletes a version in the service of the backend. If the service refuses, deleteVersion reports an
// error.
func (x *scrubbing) deleteVersion(ctx context.Context, v *store.ServiceVersion) {
	err := x.at.DeleteVersion(ctx, *v)
	if x.note("the version "+v.ID+" of "+v.Name, err); err == nil {
		x.changed++
		x.doomed = slices.DeleteFunc(x.doomed, func(d *store.ServiceVersion) bool { return d == v })
	}
}

// changeFile removes the secrets in x.removal from a file with a state or a journal (the record of the changes of an
// apply). It changes nothing if the file is missing or empty, or contains no value to remove.
func (x *scrubbing) changeFile(ctx context.Context, t *workspace.Text) error {
	data, err := t.Stored(ctx)
	if err != nil || len(data) == 0 {
		return err
	}
	var next []byte
	if t.Kind == workspace.JournalText {
		next, err = x.at.RewriteJournal(data, journal.Rewriting{Payload: x.removal.Rewrite, Scrubbed: x.digests(ctx)})
	} else {
		next, err = x.rewritten(ctx, data)
	}
	if err != nil || next == nil {
		return err
	}
	if err := disk.Replace(x.session.Dir.Call.FS(), t.Path, next); err != nil {
		return err
	}
	x.changed++
	return nil
}

// digests returns a function that returns the new digest of a state, or zero if the state does not change or cannot be
// changed. A journal names its state by the digest, and "state repair" finds the state by this name. The first call of
// digests computes all new digests, so the states must still have their former content.
func (x *scrubbing) digests(ctx context.Context) func(state.Digest) state.Digest {
	if x.renamed == nil {
		x.renamed = map[state.Digest]state.Digest{}
		for _, t := range x.texts {
			if !x.changes(&t) {
				continue
			}
			data, err := t.Stored(ctx)
			if err == nil {
				data, err = x.at.Open(ctx, data)
			}
			if err != nil {
				continue // a copy that cannot be read will not change
			}
			if next, err := x.without(data); err == nil && next != nil {
				x.renamed[state.DigestOf(data)] = state.DigestOf(next)
			}
		}
	}
	return func(d state.Digest) state.Digest { return x.renamed[d] }
}

// changes reports whether the command changes a copy of the state that contains a value. The result is false for a
// version that the service of the backend keeps, because the command can only delete such a version.
func (x *scrubbing) changes(t *workspace.Text) bool {
	switch t.Kind {
	case workspace.BackupText, workspace.ErroredText:
		return true
	case workspace.FormerText:
		return t.Version == nil && x.at.Capabilities().Rewriter != nil
	}
	return false
}

// rewritten removes the values from a state. stored is the state as the store has it, perhaps encrypted; the result has
// the same form. rewritten returns nil without an error if the state contains none of the values.
func (x *scrubbing) rewritten(ctx context.Context, stored []byte) ([]byte, error) {
	plain, err := x.at.Open(ctx, stored)
	if err != nil {
		return nil, err
	}
	next, err := x.without(plain)
	if err != nil || next == nil {
		return nil, err
	}
	return x.at.Seal(ctx, next, stored)
}

// without returns the text of a state without the values, or nil without an error if the state contains none of them.
func (x *scrubbing) without(plain []byte) ([]byte, error) {
	next, changed, err := x.removal.Rewrite(plain)
	if err != nil || !changed {
		return nil, err
	}
	var bag diag.Bag
	if _, ok := state.Read(next, &bag); !ok {
		return nil, errors.New("it cannot be read as a state without them: " + problems(&bag))
	}
	return next, nil
}

// changeFormer removes the secrets in x.removal from the former states that the store keeps. If a state cannot be
// changed, changeFormer reports an error and continues.
func (x *scrubbing) changeFormer(ctx context.Context) {
	n, err := x.at.RewriteFormer(ctx, func(serial uint64, stored []byte) ([]byte, error) {
		next, err := x.rewritten(ctx, stored)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x.note(fmt.Sprintf("the former state with the serial %d", serial), err)
		return next, nil
	})
	x.changed += n
	x.note("the former states", err)
}
