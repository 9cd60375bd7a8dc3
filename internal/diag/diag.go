// Package diag says what is wrong, where, and what to do about it.
//
// A Diagnostic is data: it names a place in the configuration (Subject), the object it is about
// (Address), and the values that played a part. It is never printed here; package view renders it.
// Go errors are for what a programmer handles; a Bag is for what a user must read. The bag is
// handed in, and functions return (T, bool): false means that an error is in the bag and the T is
// not to be used.
//
// A Bag may be used from many goroutines. It drops repeats (one mistake, one message: invariant
// I16) and lists its contents in a stable order.
package diag

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag/code"
	"github.com/zclconf/go-cty/cty"
)

// Severity tells errors from warnings.
type Severity uint8

// The severities.
const (
	Error Severity = iota + 1
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one message to the user.
type Diagnostic struct {
	Severity Severity
	Code     string // stable, for `lethe explain`; by its title, see Coded
	Foreign  bool   // said by a provider: it has no code of ours
	Aside    bool   // said inside a check, where errors are warnings; see Lenient
	Eased    bool   // an error about a check block, which is a warning but in tests; see Blame
	Summary  string // a title without a full stop
	Detail   string // sentences; why, and what to do
	Address  string // the object it is about, as users write it; may be empty
	Unmet    string // what has the condition that the user wrote and that does not hold: var.x, TYPE.NAME[0]; else empty

	Subject *Range // what is underlined
	Context *Range // what is shown around it; nil: the subject's lines

	Path    cty.Path  // the attribute inside the object at Address, where Subject is not known yet
	Values  []Value   // values in scope, for expressions
	Call    *Call     // of a function that complained
	Related []Related // other places that matter

	Others int // how many say the same of the same place with other Values: other instances
}

// Value is one line of the list of values under a snippet: `var.x` `is "a"`.
type Value struct{ Traversal, Statement string }

// Call is the call of a function, by what it takes and gives.
type Call struct {
	Function string
	Params   []Param
	Variadic *Param
	Returns  cty.Type
}

// Param is a parameter of a function.
type Param struct {
	Name     string
	Type     cty.Type
	Nullable bool
}

// String is the call as users see it: upper(str).
func (c *Call) String() string {
	var params []string
	for _, p := range c.Params {
		params = append(params, p.Name)
	}
	if c.Variadic != nil {
		params = append(params, c.Variadic.Name+"...")
	}
	return c.Function + "(" + strings.Join(params, ", ") + ")"
}

// Related points at another place: "declared here".
type Related struct {
	Note  string
	Range Range
}

// Errorf makes an error without a place.
func Errorf(summary, format string, a ...any) Diagnostic {
	return Diagnostic{Severity: Error, Summary: summary, Detail: fmt.Sprintf(format, a...)}
}

// Warningf makes a warning without a place.
func Warningf(summary, format string, a ...any) Diagnostic {
	return Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(format, a...)}
}

// At is d with its subject set.
func (d Diagnostic) At(r Range) Diagnostic {
	if r != (Range{}) {
		d.Subject = &r
	}
	return d
}

// About is d with its address set.
func (d Diagnostic) About(addr fmt.Stringer) Diagnostic {
	d.Address = addr.String()
	return d
}

// In is d about an attribute of the object at its address.
func (d Diagnostic) In(p cty.Path) Diagnostic {
	d.Path = p
	return d
}

// See adds a related place.
func (d Diagnostic) See(note string, r Range) Diagnostic {
	d.Related = append(slices.Clip(d.Related), Related{note, r})
	return d
}

// Coded is d with the code that its title has (package code); what a provider says has none. Who
// shows diagnostics calls it, so that rooms write plain titles.
func (d Diagnostic) Coded() Diagnostic {
	if d.Code == "" && !d.Foreign {
		d.Code = code.Of(d.Summary)
	}
	return d
}

// Error is the message in one line, for logs and tests.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Subject != nil {
		fmt.Fprintf(&b, "%s:%d,%d: ", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	if d.Address != "" {
		b.WriteString(d.Address + ": ")
	}
	b.WriteString(d.Summary)
	if d.Detail != "" {
		b.WriteString("; " + d.Detail)
	}
	return b.String()
}

// key is what makes two diagnostics the same message.
func (d Diagnostic) key() string { return d.Severity.String() + "\x00" + d.text() }

// text is the key without the severity.
func (d Diagnostic) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s\x00", d.Summary, d.Detail, d.Address)
	if d.Subject != nil {
		fmt.Fprintf(&b, "%v", *d.Subject)
	}
	return b.String()
}

// Bag collects diagnostics. The zero value is empty and ready.
type Bag struct {
	mu     sync.Mutex
	list   []Diagnostic
	seen   map[string]*message
	errors int
	enough Places
	eased  bool
}

// message is where in the list a message is, and which values it was given with.
type message struct {
	at     int
	values map[string]bool
}

// Add puts diagnostics into the bag.
func (b *Bag) Add(ds ...Diagnostic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range ds {
		if b.follows(d) {
			continue
		}
		k := d.key()
		if m := b.seen[k]; m != nil {
			b.again(m, d)
			continue
		}
		if b.seen == nil {
			b.seen = map[string]*message{}
		}
		b.seen[k] = &message{at: len(b.list)}
		if d.Severity == Error {
			b.errors++
		}
		b.list = append(b.list, d)
	}
}

// Enough says that mistakes at these places were reported, and that what else seems to be wrong there
// may follow from them: errors about them that are added from now on are dropped.
func (b *Bag) Enough(at ...Range) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enough.Add(at...)
}

// follows reports whether an error is about a place of which enough was said.
func (b *Bag) follows(d Diagnostic) bool {
	return d.Severity == Error && d.Subject != nil && b.enough.Has(*d.Subject)
}

// again counts a repeat that has other values. Of all of them the first by its values is kept, so
// that what is shown does not depend on which came first.
func (b *Bag) again(m *message, d Diagnostic) {
	kept := &b.list[m.at]
	have, values := valuesKey(kept.Values), valuesKey(d.Values)
	if m.values == nil {
		m.values = map[string]bool{have: true}
	}
	others := kept.Others + d.Others
	if !m.values[values] {
		m.values[values] = true
		others++
	}
	if len(values) < len(have) || len(values) == len(have) && values < have {
		*kept = d
	}
	kept.Others = others
}

func valuesKey(vs []Value) string {
	var b strings.Builder
	for _, v := range vs {
		b.WriteString(v.Traversal + "\x00" + v.Statement + "\x00")
	}
	return b.String()
}

// HCL puts the HCL library's diagnostics into the bag, without values in scope, and reports
// whether none of them is an error.
func (b *Bag) HCL(ds hcl.Diagnostics) bool {
	for _, d := range ds {
		b.Add(FromHCL(d))
	}
	return !ds.HasErrors()
}

// FromHCL turns a diagnostic of the HCL library into ours.
func FromHCL(d *hcl.Diagnostic) Diagnostic {
	out := Diagnostic{Severity: Error, Summary: d.Summary, Detail: d.Detail, Subject: d.Subject, Context: d.Context}
	if d.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	return out
}

// HasErrors reports whether an error is in the bag.
func (b *Bag) HasErrors() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors > 0
}

// Len is the number of diagnostics in the bag.
func (b *Bag) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

// Lenient calls f with a bag of its own, whose contents come into this one as warnings, aside from the
// others. It gives them as they were.
func (b *Bag) Lenient(f func(*Bag)) []Diagnostic {
	own := Bag{eased: true}
	f(&own)
	list := own.List()
	for _, d := range list {
		d.Severity, d.Aside = Warning, true
		b.Add(d)
	}
	return list
}

// Eased reports whether the errors of the bag become warnings.
func (b *Bag) Eased() bool { return b.eased }

// Blame says of the errors that they are about a check block, and that it does not hold because of them; it is "" where that is
// not so, or was said.
func (b *Bag) Blame(unmet string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.list {
		if d := &b.list[i]; d.Severity == Error {
			d.Eased = true
			if d.Unmet == "" {
				d.Unmet = unmet
			}
		}
	}
}

// Retract takes out what came in by Lenient: it is about to be found out anew.
func (b *Bag) Retract() { b.drop(func(d Diagnostic) bool { return d.Aside }) }

// Instead adds an error in the place of those, added before, that follow from the same mistake.
func (b *Bag) Instead(d Diagnostic, follows func(Diagnostic) bool) {
	b.mu.Lock()
	dropped := b.follows(d)
	b.mu.Unlock()
	if dropped { // then what was said of its place stands
		return
	}
	b.drop(func(d Diagnostic) bool { return d.Severity == Error && d.Subject != nil && follows(d) })
	b.Add(d)
}

func (b *Bag) drop(is func(Diagnostic) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []Diagnostic
	to := make([]int, len(b.list))
	for i, d := range b.list {
		if to[i] = len(kept); is(d) {
			to[i] = -1
			if d.Severity == Error {
				b.errors--
			}
			continue
		}
		kept = append(kept, d)
	}
	b.list = kept
	maps.DeleteFunc(b.seen, func(_ string, m *message) bool {
		m.at = to[m.at]
		return m.at < 0
	})
}

// Take empties the bag into another.
func (b *Bag) Take(from *Bag) {
	from.mu.Lock()
	ds := from.list
	from.list, from.seen, from.errors = nil, nil, 0
	from.mu.Unlock()
	b.Add(ds...)
}

// List gives the contents: by place in the source, then by address, those without either in the
// order they came. A warning that has become an error, of the same title about the same place, is not among them, nor is
// one from a check block that is an error elsewhere.
func (b *Bag) List() []Diagnostic {
	b.mu.Lock()
	out, errors := slices.Clone(b.list), b.errors
	b.mu.Unlock()
	if errors > 0 {
		out = withoutOutdated(out)
	}
	slices.SortStableFunc(out, func(x, y Diagnostic) int {
		return cmp.Or(comparePlaces(x.Subject, y.Subject), strings.Compare(x.Address, y.Address))
	})
	return out
}

// withoutOutdated takes out the warnings that have become errors.
func withoutOutdated(list []Diagnostic) []Diagnostic {
	type about struct {
		title string
		at    Range
	}
	wrong, said := map[about]bool{}, map[string]bool{}
	for _, d := range list {
		if d.Severity == Error {
			said[d.text()] = true
		}
		if d.Severity == Error && d.Subject != nil {
			wrong[about{d.Summary, *d.Subject}] = true
		}
	}
	return slices.DeleteFunc(list, func(d Diagnostic) bool {
		return d.Severity == Warning && (d.Subject != nil && wrong[about{d.Summary, *d.Subject}] || d.Aside && said[d.text()])
	})
}

func comparePlaces(a, b *Range) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return CompareRanges(*a, *b)
}

// Clear empties the bag: its contents have been shown.
func (b *Bag) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.seen, b.errors, b.enough = nil, nil, 0, Places{}
}

// A Bug is a panic of ours that did not end the process: an error like others for whom it concerns,
// so that what is open is closed.
type Bug struct {
	What  string // what the runtime says; "" for anything else, which might hold a secret
	Stack []byte
}

func (b *Bug) Error() string {
	return fmt.Sprintf("Lethe crashed while dealing with what a provider sent%s. This is a bug in Lethe, please report it with what follows.\n\n%s", b.What, b.Stack)
}

// Caught is deferred where a goroutine begins whose panic would not be caught otherwise. It makes a Bug
// of it.
func Caught(err *error) {
	v := recover()
	if v == nil {
		return
	}
	bug := &Bug{Stack: debug.Stack()}
	if e, ok := v.(runtime.Error); ok {
		bug.What = fmt.Sprintf(" (%s)", e)
	}
	*err = bug
}
