package secretscmd

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// scrubbing is one run of the command.
type scrubbing struct {
	collection
	removal *audit.Removal
	planned []string // the plan files that contain a value
	changed int      // the number of changed copies
}

// variables returns a function that reports whether a value is in the value of a root variable. Without a readable
// configuration, no values are known.
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

// aside runs f without reporting its diagnostics in bag. It returns them as sentences.
func aside(bag *diag.Bag, f func()) string {
	before := bag.List()
	bag.Clear()
	f()
	text := problems(bag)
	bag.Clear()
	bag.Add(before...)
	return text
}

// texts adds the strings in the value of a variable.
func texts(given frame.Given, known map[string]bool) {
	if given.IsText {
		known[given.Text] = true
		return
	}
	secret.Leaves(given.Value, func(_ cty.Path, _ cty.Value, text string) { known[text] = true })
}

// findPlans adds the plan files in the working directory, except the files that the user named, and returns their names. A
// plan that cannot be read is a place with a problem.
func (x *scrubbing) findPlans(ctx context.Context, named []string) []string {
	c := x.session.Dir.Call
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || slices.Contains(named, name) || !isPlan(c.Path(name)) {
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

// isPlan reports whether a file is a saved plan of Lethe or of Terraform, which may be encrypted.
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

// withValues returns the plan files that contain a value of the removal. Plans of other programs are searched as they
// are.
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

// mostOfMember is the number of bytes of a member that is searched.
const mostOfMember = 1 << 30

// inMembers reports whether a member of an archive contains a value.
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

// change removes the values from all copies. It reports an error for each copy that it cannot change, and continues. After
// an interrupt it begins no other copy.
func (x *scrubbing) change(ctx context.Context) {
	c := x.session.Dir.Call
	for _, t := range x.texts {
		if ctx.Err() != nil {
			return
		}
		if t.Path == "" || t.Kind == workspace.CurrentText {
			continue
		}
		x.note(t.Where, x.changeFile(ctx, &t))
	}
	x.changeStored(ctx)
	for _, name := range x.planned {
		if ctx.Err() != nil {
			return
		}
		err := os.Remove(c.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		x.note(name, err)
		if err == nil {
			x.changed++
		}
	}
	c.UI.Print(diag.Counted(x.changed, "copy was", "copies were") + " changed or deleted.\n")
}

// note reports an error about a copy.
func (x *scrubbing) note(name string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		x.session.Dir.Call.Bag.Add(diag.Errorf("Copy not changed", "The values cannot be removed from %s: %s. Delete it if you do not need it.", name, disk.Reason(err)))
	}
}

// changeFile removes the values from a file: a state or a journal.
func (x *scrubbing) changeFile(ctx context.Context, t *workspace.Text) error {
	data, err := t.Stored(ctx)
	if err != nil || len(data) == 0 {
		return err
	}
	var next []byte
	if t.Kind == workspace.JournalText {
		next, err = x.at.RewriteJournal(data, x.removal.Rewrite)
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

// rewritten returns the stored form of a state without the values; nil if it contains none.
func (x *scrubbing) rewritten(ctx context.Context, stored []byte) ([]byte, error) {
	plain, err := x.at.Open(ctx, stored)
	if err != nil {
		return nil, err
	}
	next, changed, err := x.removal.Rewrite(plain)
	if err != nil || !changed {
		return nil, err
	}
	var bag diag.Bag
	if _, ok := state.Read(next, &bag); !ok {
		return nil, errors.New("it cannot be read as a state without them: " + problems(&bag))
	}
	return x.at.Seal(ctx, next, stored)
}

// changeStored removes the values from the earlier versions in the store.
func (x *scrubbing) changeStored(ctx context.Context) {
	if x.at.Capabilities().Rewriter == nil {
		return
	}
	x.note("the earlier versions", x.at.RewriteFormer(ctx, func(stored []byte) ([]byte, error) {
		next, err := x.rewritten(ctx, stored)
		if err == nil && next != nil {
			x.changed++
		}
		return next, err
	}))
}
