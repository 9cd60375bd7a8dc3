package secretscmd

import (
	"context"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// collection collects the contents of all places for an audit. A place is a state, a copy of a state, a journal or a
// plan file.
type collection struct {
	session *session.Session
	plans   *savedplan.Plans
	auditor *audit.Auditor
	hints   []string         // sentences about places that Lethe cannot list
	at      states.Selected  // the selected workspace; set by the method state
	texts   []workspace.Text // all stored texts that may contain the state, with the versions in the service; set by the method state
	current *audit.Place     // place of the current state; nil if there is no state

	versions map[*audit.Place]*store.ServiceVersion // by place: the version in the service of the backend; places elsewhere have no element; nil if no service keeps versions
	pieces   []*store.ServiceVersion                // versions in the service with parts of journals, which are not read
}

var kinds = map[workspace.TextKind]audit.Kind{
	workspace.CurrentText: audit.State, workspace.FormerText: audit.Version, workspace.BackupText: audit.Backup,
	workspace.ErroredText: audit.Errored, workspace.JournalText: audit.Journal,
}

// state adds the state of the selected workspace and all its copies to the collection. others is true if the command
// also examines other places, such as plan files. If neither a state nor a copy exists and others is false, state
// reports an error. It returns false after an error, and after an interrupt.
func (x *collection) state(ctx context.Context, others bool) bool {
	c := x.session.Dir.Call
	at, ok := x.session.States.Selected(ctx)
	if !ok {
		return false
	}
	texts, err := at.Inventory(ctx)
	x.at = at
	if err != nil {
		c.Bag.Add(workspace.Problem(err, diag.Errorf("Failed to load state", "The copies of the state cannot be listed: %s.", err)))
		return false
	}
	texts = append(texts, x.serviceVersions(ctx)...)
	x.texts = texts
	any, ok := x.each(ctx, texts, c.UI.Send, func(t *workspace.Text) (bool, bool) { return x.text(ctx, at, t) })
	if !ok {
		return false
	}
	if !any && !others {
		c.Bag.Add(diag.Errorf("No state file was found!", "This command needs a state. Run it in a directory where Lethe has been applied, or name a state file with -state."))
	}
	return any || others
}

// each calls read for each text, and sends the progress over earlier versions as events. It does not read parts of
// journals, and adds these to x.pieces. found is true if read has found any text. ok is false if read returned ok false
// or the context ended.
func (x *collection) each(ctx context.Context, texts []workspace.Text, send func(event.Event), read func(*workspace.Text) (found, ok bool)) (found, ok bool) {
	former, done := 0, 0
	for _, t := range texts {
		if t.Kind == workspace.FormerText {
			former++
		}
	}
	if former > 0 {
		defer send(event.Transfer{Name: readingVersions, Unit: "versions", Ended: true})
	}
	for _, t := range texts {
		if ctx.Err() != nil {
			return false, false
		}
		if t.Kind == workspace.PieceText {
			x.pieces = append(x.pieces, t.Version)
			continue
		}
		if t.Kind == workspace.FormerText {
			send(event.Transfer{Name: readingVersions, Done: int64(done), All: int64(former), Unit: "versions"})
			done++
		}
		one, ok := read(&t)
		if !ok {
			return false, false
		}
		found = found || one
	}
	return found, true
}

const readingVersions = "Earlier versions of the state"

// text adds the content of one text, such as the state, a backup or a journal. found is false if the text does not
// exist. ok is false after an error about the current state. For other texts, an error is recorded in the place.
func (x *collection) text(ctx context.Context, at states.Selected, t *workspace.Text) (found, ok bool) {
	c := x.session.Dir.Call
	data, err := t.Stored(ctx)
	p := audit.Place{Kind: kinds[t.Kind], Name: t.Where, Serial: t.Serial, Time: t.Time}
	switch {
	case err != nil && t.Kind == workspace.CurrentText:
		c.Bag.Add(workspace.Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
		return false, false
	case err != nil:
		x.unread(p, err.Error())
		return true, true
	case len(data) == 0:
		return false, true
	case t.Kind == workspace.JournalText:
		x.journal(at, p, data)
		return true, true
	}
	p.Encrypted = crypt.Sealed(data)
	plain, err := at.Open(ctx, data)
	if err != nil {
		if t.Kind == workspace.CurrentText {
			c.Bag.Add(workspace.Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
			return false, false
		}
		x.unread(p, err.Error())
		return true, true
	}
	var bag diag.Bag
	s, ok := state.Read(plain, &bag)
	if !ok {
		if t.Kind == workspace.CurrentText {
			c.Bag.Move(&bag)
			return false, false
		}
		x.unread(p, problems(&bag))
		return true, true
	}
	p.Serial = s.Serial
	place := x.auditor.Place(p)
	if t.Kind == workspace.CurrentText {
		x.current = place
	}
	if t.Version != nil {
		x.versions[place] = t.Version
	}
	x.auditor.State(place, s)
	return true, true
}

// problems returns the diagnostics in a bag as sentences.
func problems(bag *diag.Bag) string {
	var out []string
	for _, d := range bag.List() {
		out = append(out, d.Summary+": "+d.Detail)
	}
	return strings.Join(out, " ")
}

// unread records a place that cannot be read because of problem, a sentence.
func (x *collection) unread(p audit.Place, problem string) {
	p.Problem = strings.TrimSuffix(problem, ".") + "."
	x.auditor.Place(p)
}

// journal adds the objects in the records of a journal with the content data. If the journal cannot be read, or a part
// of it is damaged, the place p records this problem.
func (x *collection) journal(at states.Selected, p audit.Place, data []byte) {
	changes, encrypted, damaged, err := at.Objects(data)
	if p.Encrypted = encrypted; err != nil {
		x.unread(p, err.Error())
		return
	}
	if damaged > 0 {
		p.Problem = "A part of it is damaged, and was not examined."
	}
	x.auditor.Journal(x.auditor.Place(p), changes)
}

// savedPlans adds the contents of the named plan files. At the first file that cannot be read, it reports an error and
// returns false.
func (x *collection) savedPlans(ctx context.Context, names []string) bool {
	c := x.session.Dir.Call
	for _, name := range names {
		data, err := os.ReadFile(c.Path(name))
		if err != nil {
			c.Bag.Add(base.UnreadablePlan(c, name, err))
			return false
		}
		saved, ok := x.plans.Decode(ctx, name, data)
		if !ok {
			return false
		}
		p := x.auditor.Place(audit.Place{Kind: audit.Plan, Name: name, Encrypted: crypt.Sealed(data), Time: saved.Plan.Timestamp})
		x.auditor.Plan(p, saved.Plan, x.plans.Sensitive(saved))
	}
	return true
}

// serviceVersions returns the earlier versions that the service of the backend keeps by itself. If Lethe cannot list
// them, serviceVersions records a hint. It returns nil without a hint if the store keeps former states itself.
func (x *collection) serviceVersions(ctx context.Context) []workspace.Text {
	can := x.at.Capabilities()
	switch {
	case can.Service == nil && can.History == nil:
		x.hints = append(x.hints, "The backend keeps no earlier versions that Lethe can list. Its service may keep some: the versions of an object, the backups of a database.")
		return nil
	case can.Service == nil:
		return nil
	}
	x.versions = map[*audit.Place]*store.ServiceVersion{}
	list, err := x.at.Versions(ctx)
	if err != nil {
		x.hints = append(x.hints, "The service of the backend does not list its earlier versions: "+strings.TrimSuffix(strings.ReplaceAll(err.Error(), "\n", " "), ".")+".")
	}
	return list
}
