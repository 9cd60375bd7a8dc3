package combine

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/box"
	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// A Finding is a violation of a rule. While a scenario is shrunk, findings of the same Class count as the same fault.
type Finding struct {
	Step   int
	Class  string
	Detail string
}

func (f Finding) String() string { return fmt.Sprintf("step %d: %s: %s", f.Step+1, f.Class, f.Detail) }

// judge checks step n of Lethe without a peer, and returns its findings. If a command was killed, it first checks the
// outcome of that command. It returns nil for a step that another engine runs.
func (x *side) judge(n int, st *Step, o *Outcome) []Finding {
	if o.Lost != nil {
		if found := x.judge(n, st, o.Lost); len(found) > 0 {
			return found
		}
	}
	j := &judgement{x: x, st: st, o: o, step: n}
	if st.Do.Peer {
		return nil
	}
	j.crashes()
	j.leases()
	j.canary()
	if j.lost() {
		ids := o.After.ids()
		for _, there := range o.Objects {
			if ids[there.ID] == "" {
				x.foreign[there.ID] = true // from now on, no state can have the object
			}
		}
		return j.found
	}
	j.once()
	j.sameCloud()
	j.order()
	if o.Apply != nil && o.Apply.Exit == 0 {
		if st.Do.full() {
			x.applied = st.Config
		}
		j.counts()
		j.asPlanned()
		j.again()
	}
	return j.found
}

type judgement struct {
	x     *side
	st    *Step
	o     *Outcome
	step  int
	found []Finding
}

func (j *judgement) find(class, format string, args ...any) {
	j.found = append(j.found, Finding{j.step, class, fmt.Sprintf(format, args...)})
}

var broken = regexp.MustCompile(`(?i)internal error|panic:|goroutine \d+|lethe crashed|bug in lethe|<nil>|%!`)

// crashes finds output that no user may see, such as panics, and commands that hang or fail without an error message.
func (j *judgement) crashes() {
	for _, i := range j.o.Invocations {
		if i.Args[0] != "show" {
			for line := range strings.Lines(i.Out) {
				if broken.MatchString(line) {
					j.find("broken: "+shape(line), "%s: %s", strings.Join(i.Args, " "), strings.TrimSpace(line))
					break
				}
			}
		}
		if i.Slow {
			j.find("hangs: "+i.Args[0], "%s", strings.Join(i.Args, " "))
		}
		if slices.Contains(i.Args, "repair") && i.Exit != 0 {
			j.find("nothing can be taken in", "%s", i.Out)
		}
		if i.Exit > 2 || i.Exit < 0 && i.Killed == "" || i.Exit == 1 && len(i.Errors) == 0 && !j.st.fault(cloud.Interrupt) {
			j.find(fmt.Sprintf("exit %d without a word", i.Exit), "%s: %s", strings.Join(i.Args, " "), i.Out)
		}
	}
}

var (
	addresses = regexp.MustCompile(`[a-z_.]+\.[a-z][a-z0-9]*(\[[^\]]*\])?`)
	digits    = regexp.MustCompile(`\d+`)
)

// shape returns a line without the parts that differ from case to case.
func shape(line string) string {
	line = strings.TrimSpace(digits.ReplaceAllString(addresses.ReplaceAllString(line, "X"), "N"))
	return line[:min(len(line), 90)]
}

func (st *Step) fault(hows ...string) bool {
	return slices.ContainsFunc(st.Faults, func(f cloud.Fault) bool { return slices.Contains(hows, f.How) })
}

// lost reports whether objects may exist whose answer was lost or cannot be stored.
func (j *judgement) lost() bool { return j.st.fault(cloud.Crash, cloud.Lost, cloud.Leak) }

// leases checks that each lease is closed, and only once. A lease may remain open after a crash, or if state check
// names it.
func (j *judgement) leases() {
	if len(j.o.Leases) > 0 && !j.st.fault(cloud.Crash, cloud.Lost) && j.named(leaseOpen) < len(j.o.Leases) {
		j.find("lease left open", "%v", j.o.Leases)
	}
	for _, i := range j.o.Invocations {
		for _, c := range i.Calls {
			if c.Call == "close" && c.Error != "" {
				j.find("lease closed twice", "%s: %s", c.ID, c.Error)
			}
		}
	}
}

var (
	leaseOpen = regexp.MustCompile(`ephemeral\.\S+`)
	noOutcome = regexp.MustCompile(`the outcome of "create" is unknown`)
)

// named returns how many open leases or unanswered calls state check reports after the engine and the keeper were
// killed. If the keeper survived, everything is known.
func (j *judgement) named(what *regexp.Regexp) int {
	n := 0
	for _, i := range j.o.Invocations {
		if slices.Contains(i.Args, "check") && j.st.fault(cloud.KillBoth) {
			n += len(what.FindAllString(i.Out, -1))
		}
	}
	return n
}

// canary searches all output and files for secrets.
func (j *judgement) canary() {
	secret := []byte(box.Canary)
	for _, i := range j.o.Invocations {
		if strings.Contains(i.Out, box.Canary) {
			j.find("canary in output of "+i.Args[0], "%s", strings.Join(i.Args, " "))
		}
	}
	_ = filepath.WalkDir(j.x.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		text, _ := os.ReadFile(path)
		if bytes.Contains(text, secret) || bytes.Contains(unpacked(text), secret) {
			j.find("canary in "+d.Name(), "%s", path)
		}
		return nil
	})
}

// unpacked returns the contents of all files in a zip archive, such as a plan, or nil if text is no archive.
func unpacked(text []byte) []byte {
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil
	}
	var all []byte
	for _, f := range r.File {
		if rc, err := f.Open(); err == nil {
			b, _ := io.ReadAll(rc)
			rc.Close()
			all = append(all, b...)
		}
	}
	return all
}

// once checks that no command reads an object or a data source twice, or opens a lease twice during a plan. A command
// that plans and applies may read a data source once in each part.
func (j *judgement) once() {
	for _, i := range j.o.Invocations {
		if i.Exit == 1 { // after an error, skip the check, because two addresses may name one object
			continue
		}
		asked := map[string]int{}
		for _, c := range i.Calls {
			switch {
			case c.Call == "read", c.Call == "open" && i == j.o.Plan, c.Call == "data" && c.Type == "combine_look" && j.single(c):
				asked[strings.TrimSpace(c.Call+" "+c.Type+" "+c.Key+" "+map[bool]string{true: c.ID + " " + c.Region}[c.Call == "read"])]++
			}
		}
		for _, what := range slices.Sorted(maps.Keys(asked)) {
			most := 1
			if j.o.Plan == nil && strings.HasPrefix(what, "data") { // the data source is read during the plan and again during the apply
				most = 2
			}
			if asked[what] > most {
				j.find(i.Args[0]+" asks twice: "+strings.Fields(what)[0], "%d times: %s", asked[what], what)
			}
		}
	}
}

// single reports whether a read certainly belongs to one data source only: exactly one data source in the state has the
// key of the call, and no other declared data source can make the same read.
func (j *judgement) single(call cloud.Call) bool {
	n := 0
	for _, r := range j.o.After.Resources {
		for _, i := range r.Instances {
			if r.Mode == "data" && i.Attributes["id"] == call.Key {
				n++
			}
		}
	}
	j.st.Config.each(func(_ *Module, b *Block) { // a declared data source that is not in the state, or whose instances are not known before an apply, may make the same read
		if b.Type == "combine_look" && (j.o.Apply == nil && b.repeats() != "" || !slices.ContainsFunc(j.o.After.Resources, func(r *StateResource) bool { return r.Name == b.Name })) {
			n = 0
		}
	})
	return n == 1
}

// sameCloud compares the existing objects with the state. Forgotten objects and objects for import are foreign. The
// state may still contain objects that others deleted.
func (j *judgement) sameCloud() {
	ids := j.o.After.ids()
	for _, o := range j.o.Objects {
		if ids[o.ID] == "" && j.forgotten(o.ID) {
			j.x.foreign[o.ID] = true
		}
		if ids[o.ID] != "" {
			delete(j.x.foreign, o.ID)
		}
	}
	there := map[string]bool{}
	unknown := j.named(noOutcome)
	for _, o := range j.o.Objects {
		there[o.ID] = true
		if ids[o.ID] == "" && !j.x.foreign[o.ID] {
			if unknown--; unknown < 0 {
				j.find("object in no state", "%s", o.ID)
			}
			j.x.foreign[o.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if !there[id] && j.st.Do.full() && j.o.Apply != nil && j.o.Apply.Exit == 0 && !j.said("Objects not refreshed") {
			j.find("state of nothing", "%s is %s", ids[id], id)
		}
	}
}

// said reports whether the output of a command contains the text.
func (j *judgement) said(what string) bool {
	return slices.ContainsFunc(j.o.Invocations, func(i *Invocation) bool { return strings.Contains(i.Out, what) })
}

// letGo matches a forgotten object in a plan.
var letGo = regexp.MustCompile(`(?s) will no longer be managed by \w+, .*?\n\s+}`)

// forgotten reports whether the engine may have forgotten an object: a removed block names it, the provider did not
// find it, or the plan announces it.
func (j *judgement) forgotten(id string) bool {
	addr := j.o.Before.ids()[id]
	for _, i := range j.o.Invocations {
		if strings.Contains(i.Out, addr+" has been deleted") ||
			slices.ContainsFunc(letGo.FindAllString(i.Out, -1), func(block string) bool { return strings.Contains(block, strconv.Quote(id)) }) {
			return addr != ""
		}
		for _, c := range i.Calls {
			if c.Call == "read" && c.ID == id && c.Note == "gone" && !j.reachable(id) {
				return true
			}
		}
	}
	return false
}

// reachable reports whether the configuration still has the provider block that has made an object, with the region of
// the object as a literal. Then the engine must find the object, even if its resource has another provider block now.
func (j *judgement) reachable(id string) (yes bool) {
	at := slices.IndexFunc(j.o.Objects, func(o *cloud.Object) bool { return o.ID == id })
	j.o.Before.managed(func(r *StateResource, i *StateInstance) {
		for _, b := range j.st.Config.Blocks {
			e := b.arg("region")
			yes = yes || at >= 0 && i.id() == id && b.Kind == Provider && b.Name != "" && b.repeats() == "" && e != nil && e.Op == "lit" &&
				e.Text == strconv.Quote(j.o.Objects[at].Region) && strings.HasSuffix(r.Provider, "]."+b.Name)
		}
	})
	return yes
}

var (
	planned = regexp.MustCompile(`Plan: (?:(\d+) to import, )?(\d+) to add, (\d+) to change, (\d+) to destroy`)
	applied = regexp.MustCompile(`(?:Apply|Destroy) complete! Resources: (?:(\d+) imported, )?(?:(\d+) added, (\d+) changed, )?(\d+) destroyed`)
)

// counts compares the numbers of changes that the plans of all rounds announce with the numbers that the apply reports.
// Fewer updates than planned are no finding.
func (j *judgement) counts() {
	out := j.o.Apply.Out
	if j.o.Plan != nil {
		out = j.o.Plan.Out + out
	}
	plans, a := planned.FindAllStringSubmatch(out, -1), applied.FindStringSubmatch(j.o.Apply.Out)
	if a == nil {
		if strings.Contains(j.o.Apply.Out, "omplete!") {
			return
		}
		j.find("apply says nothing of what it did", "%s", j.o.Apply.Out)
		return
	}
	for i, what := range []string{"import", "add", "change", "destroy"} {
		x, y := 0, number(a[i+1])
		for _, p := range plans {
			x += number(p[i+1])
		}
		if x != y && !(what == "change" && y < x) {
			j.find("counts: "+what, "%d planned, %d done", x, y)
		}
	}
}

// number returns the number in a text, or 0 if it has none.
func number(s string) int {
	n := 0
	_, _ = fmt.Sscan(s, &n)
	return n
}

// asPlanned compares the known values in the document of the plan with the state. Without a document it checks nothing.
func (j *judgement) asPlanned() {
	if j.o.PlanJSON == nil {
		return
	}
	state := map[string]map[string]any{}
	for _, r := range j.o.After.Resources {
		for _, i := range r.Instances {
			if i.Deposed == "" {
				state[i.addr(r)] = i.Attributes
			}
		}
	}
	changes, _ := j.o.PlanJSON["resource_changes"].([]any)
	for _, c := range changes {
		m, _ := c.(map[string]any)
		change, _ := m["change"].(map[string]any)
		addr, _ := m["address"].(string)
		after, _ := change["after"].(map[string]any)
		if after == nil || m["deposed"] != nil || m["mode"] == "data" {
			continue
		}
		is, ok := state[addr]
		if !ok {
			if !slices.Contains(actions(change), "forget") {
				j.find("planned object is not there", "%s", addr)
			}
			continue
		}
		is = untyped(is)
		unknown, _ := change["after_unknown"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if box.Unordered(name) && anyTrue(unknown[name]) {
				continue // elements of the planned set may be equal after the apply
			}
			if !within(after[name], unknown[name], is[name]) {
				j.find("planned value is not the result", "%s.%s: planned %s, is %s", addr, name, compact(after[name]), compact(is[name]))
			}
		}
	}
}

// actions returns the actions of a change in the document of a plan.
func actions(change map[string]any) []string {
	var all []string
	list, _ := change["actions"].([]any)
	for _, a := range list {
		s, _ := a.(string)
		all = append(all, s)
	}
	return all
}

// again checks the second plan: it has no changes, and no new errors.
func (j *judgement) again() {
	s := j.o.Second
	if s == nil || j.o.halfConfigured() {
		return
	}
	outlived := func(title string) bool { return title == "Configuration for import target does not exist" } // the imported object was just deleted
	if s.Exit == 1 && !all(s.Errors, outlived) {
		j.find("second plan fails: "+shape(strings.Join(s.Errors, "; ")), "%v", s.Errors)
	}
	if s.Exit == 2 && (len(j.st.Faults) == 0 || j.st.fault(cloud.Kill, cloud.KillBoth)) {
		j.find("second plan is not empty: "+verbs(j.o.SecondJSON), "%s", headlines(s.Out))
	}
}

// headlines returns the headings of the objects in a plan.
func headlines(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "# ") && !strings.HasPrefix(t, "# (") || strings.Contains(t, " -> ") {
			b.WriteString(t + "\n")
		}
	}
	return b.String()
}

// halfConfigured reports whether the plan used a provider with unknown settings. The values that it returned may be
// wrong.
func (o *Outcome) halfConfigured() bool {
	for _, i := range o.Invocations {
		for _, c := range i.Calls {
			if c.Region == "(unknown)" {
				return true
			}
		}
	}
	return false
}

// verbs returns the actions of a plan, for the class of a finding.
func verbs(doc map[string]any) string {
	all := map[string]bool{}
	changes, _ := doc["resource_changes"].([]any)
	for _, c := range changes {
		m, _ := c.(map[string]any)
		change, _ := m["change"].(map[string]any)
		if a := strings.Join(actions(change), "/"); a != "no-op" {
			all[fmt.Sprint(m["mode"], " ", a)] = true
		}
	}
	outputs, _ := doc["output_changes"].(map[string]any)
	for _, c := range outputs {
		change, _ := c.(map[string]any)
		if a := strings.Join(actions(change), "/"); a != "no-op" {
			all["output "+a] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// all reports whether holds(id) is true for each element of ids. If ids is empty, it returns false.
func all(ids []string, holds func(id string) bool) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !holds(id) })
}

// createsFirst reports whether the configuration has create_before_destroy for a resource (first), and whether it
// declares the resource (declared).
func (m *Module) createsFirst(r *StateResource) (first, declared bool) {
	m.each(func(_ *Module, b *Block) {
		if b.Kind == Resource && b.Name == r.Name && b.Type == r.Type {
			l := b.nested("lifecycle")
			first, declared = l != nil && l.arg("create_before_destroy") != nil, true
		}
	})
	return first, declared
}

// landed returns the address of a resource after all moves, without instance keys.
func (m *Module) landed(addr string) string {
	addr = keyless(addr)
	for range m.blocks() { // no chain of moves has more steps than the module has blocks
		m.each(func(_ *Module, b *Block) {
			if b.Kind != Moved {
				return
			}
			if from := keyless(b.arg("from").text()); strings.HasSuffix("."+addr, "."+from) {
				addr = strings.TrimSuffix(addr, from) + keyless(b.arg("to").text())
			}
		})
	}
	return addr
}

var (
	circles = regexp.MustCompile(`depend on each other in a circle: (.*)\. A moved block`)
	circle  = regexp.MustCompile(`\[(.*?)\](?:, |$)`)
)

// circle reports whether a message announced that two resources, named without keys, have no order. Moves can cause
// this: a state records dependencies by resource, and an object may move to a resource that it depended on.
func (j *judgement) circle(a, b string) bool {
	for _, i := range j.o.Invocations {
		for _, told := range circles.FindAllStringSubmatch(i.Out, -1) {
			for _, one := range circle.FindAllStringSubmatch(told[1], -1) {
				if names := strings.Fields(keyless(one[1])); slices.Contains(names, a) && slices.Contains(names, b) {
					return true
				}
			}
		}
	}
	return false
}

// order checks that an object is created after the objects that it depends on, and destroyed before them. A state names
// a resource even if the dependency is one of its instances. The order of the other instances is free.
func (j *judgement) order() {
	if j.o.Apply == nil {
		return
	}
	made, gone := map[string]cloud.Call{}, map[string]cloud.Call{}
	for _, c := range j.o.Apply.Calls {
		switch c.Call {
		case "create", "update":
			made[c.ID] = c
		case "delete":
			gone[c.ID] = c
		}
	}
	first, now := map[string]string{}, map[string]string{} // first: by object that was created first, its resource; now: the objects that exist now
	was := map[string]string{}                             // by object: its resource at the time of its destruction
	j.o.Before.managed(func(r *StateResource, i *StateInstance) {
		was[i.id()] = j.st.Config.landed(r.addr())
		is, declared := j.st.Config.createsFirst(r)
		if !declared || j.o.After.at(i.addr(r)) == nil { // a destroyed object has its order from the last applied configuration
			is, _ = j.x.applied.createsFirst(r)
			is = is || i.CreateFirst
		}
		if is {
			first[i.id()] = r.addr()
		}
	})
	j.o.After.managed(func(r *StateResource, i *StateInstance) {
		now[i.id()] = r.addr()
	})
	for _, s := range []*State{j.o.Before, j.o.After} {
		byAddr := map[string][]string{}
		s.managed(func(r *StateResource, i *StateInstance) {
			if id := i.id(); id != "" {
				byAddr[r.addr()] = append(byAddr[r.addr()], id)
			}
		})
		s.managed(func(r *StateResource, i *StateInstance) {
			id := i.id()
			for _, d := range i.Dependencies {
				if j.st.Config.landed(d) == was[id] || j.circle(j.st.Config.landed(d), was[id]) {
					continue // instances of one resource have no order
				}
				if a := made[id]; s == j.o.After && a.End > 0 && all(byAddr[d], func(on string) bool { return made[on].End > a.Begin }) {
					j.find("made before what it depends on", "%s before %s", id, d)
				}
				if a := gone[id]; s == j.o.Before && a.End > 0 && all(byAddr[d], func(on string) bool { b := gone[on]; return b.End > 0 && a.End > b.Begin }) {
					j.find("gone after what it depended on", "%s after %s", id, d)
				}
			}
		})
	}
	for _, c := range j.o.Apply.Calls {
		if c.Call != "delete" || c.Note == "" {
			continue
		}
		for _, user := range strings.Fields(strings.TrimPrefix(c.Note, "used by ")) {
			if g, ok := gone[user]; ok && g.Begin > c.End && c.Error == "" && was[c.ID] != was[user] && !j.circle(was[c.ID], was[user]) {
				j.find("gone while it was used", "%s, used by %s, which goes later", c.ID, user)
			}
			if u, ok := made[user]; ok && u.Begin > c.End && c.Error == "" && first[c.ID] != "" && first[c.ID] != now[user] {
				j.find("gone before what used it changed", "%s, used by %s, which is changed later", c.ID, user)
			}
		}
	}
}
