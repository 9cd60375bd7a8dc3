// Package diag represents the messages to the user: what is wrong, where it is, and how to correct it.
//
// A Diagnostic is data: it names a place in the configuration (Subject), an object (Address) and the relevant values.
// Package view renders it. Go errors are for conditions that code handles; a Bag is for messages that the user must
// read. A function that can fail receives the bag and returns (T, bool): false means that the function has added an
// error to the bag, and that the T must not be used.
//
// A Bag is safe for concurrent use. It drops repeated messages (one mistake, one message: invariant I16 of the
// architecture) and lists its contents in a stable order.
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

// Severity is error or warning.
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
	Code     string // stable, for `lethe explain`; derived from the title, see Coded
	Foreign  bool   // a provider has written the message; such messages have no code
	Aside    bool   // reported inside a check block, where all messages are warnings; see Lenient
	Eased    bool   // an error about a check block, which is a warning except in tests; see Blame
	Summary  string // a title without a full stop
	Detail   string // sentences that explain the mistake and how to correct it
	Address  string // the address of the object, as users write it; "": the diagnostic is about no object
	Unmet    string // the address of the declaration whose condition is false: var.x, TYPE.NAME[0]; "" for other diagnostics

	Subject *Range // the source text that views underline
	Context *Range // the source text that views show around Subject; nil means the lines of Subject

	Path    cty.Path  // the attribute of the object at Address, if Subject is not known yet
	Values  []Value   // values of the names in the expression, for views
	Call    *Call     // the call of the function that failed
	Related []Related // other relevant places

	Others int // number of equal messages from other instances, each with other Values
}

// Value is one line of the list of values under a snippet: `var.x` `is "a"`.
type Value struct{ Traversal, Statement string }

// Call is the signature of a called function.
type Call struct {
	Function string
	Params   []Param
	Variadic *Param   // describes further arguments; nil if the function takes none
	Returns  cty.Type // DynamicPseudoType if the type depends on the arguments or is not known
}

// Param is a parameter of a function. Nullable is true if the argument may be null.
type Param struct {
	Name     string
	Type     cty.Type
	Nullable bool
}

// String returns the call with the names of the parameters, such as upper(str). Three dots follow a variadic parameter.
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

// Related points at another place, with a note such as "declared here".
type Related struct {
	Note  string
	Range Range
}

// Errorf returns an error without a place.
func Errorf(summary, format string, a ...any) Diagnostic {
	return Diagnostic{Severity: Error, Summary: summary, Detail: sentence(format, a...)}
}

// Warningf returns a warning without a place.
func Warningf(summary, format string, a ...any) Diagnostic {
	return Diagnostic{Severity: Warning, Summary: summary, Detail: sentence(format, a...)}
}

// sentence formats like fmt.Sprintf. Texts of errors of Windows end with a full stop. sentence removes it if the format
// has a punctuation mark after the error.
func sentence(format string, a ...any) string {
	text := fmt.Sprintf(format, a...)
	for _, arg := range a {
		err, ok := arg.(error)
		if !ok || err == nil {
			continue
		}
		if full := err.Error(); strings.HasSuffix(full, ".") && !strings.HasSuffix(full, "..") {
			for _, mark := range []string{".", ",", ":", ";"} {
				text = strings.ReplaceAll(text, full+mark, full[:len(full)-1]+mark)
			}
		}
	}
	return text
}

// At returns d with its subject set, or d unchanged if r is the zero value.
func (d Diagnostic) At(r Range) Diagnostic {
	if r != (Range{}) {
		d.Subject = &r
	}
	return d
}

// About returns d with its address set.
func (d Diagnostic) About(addr fmt.Stringer) Diagnostic {
	d.Address = addr.String()
	return d
}

// In returns d with Path set: the path of an attribute of the object at d.Address.
func (d Diagnostic) In(p cty.Path) Diagnostic {
	d.Path = p
	return d
}

// See returns d with another related place.
func (d Diagnostic) See(note string, r Range) Diagnostic {
	d.Related = append(slices.Clip(d.Related), Related{note, r})
	return d
}

// Coded returns d with the code of its title (package code). It returns d unchanged if d has a code already, or is a
// provider's message, which has no code. The code is "" if no page lists the title. The functions that show diagnostics
// call Coded, so that other packages write titles only.
func (d Diagnostic) Coded() Diagnostic {
	if d.Code == "" && !d.Foreign {
		d.Code = code.Of(d.Summary)
	}
	return d
}

// Error returns the place, the address, the title and the detail of the message, for logs and tests. It omits parts
// that are not set.
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

// key identifies a message: two diagnostics with the same key are the same message, perhaps with other values.
func (d Diagnostic) key() string { return d.Severity.String() + "\x00" + d.text() }

// text returns a key of the title, detail, address and place: the result of key without the severity.
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
	seen   map[string]*message // the messages in list, by the result of Diagnostic.key
	errors int                 // the number of errors in list
	enough Places              // the places that were passed to Enough: further errors about them are dropped
	eased  bool                // the bag was made by Lenient, so its errors become warnings
}

// message is the index of a diagnostic in Bag.list, and the values with which this message was added.
type message struct {
	at     int
	values map[string]bool
}

// Add adds diagnostics. It drops repeated messages, and errors about places that were passed to Enough. If a repeated
// message has other values, Add counts it in Others of the diagnostic that the bag keeps.
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

// Enough records places whose mistakes were reported. Later errors that begin in these places may be consequences of
// the same mistakes, so Add drops them.
func (b *Bag) Enough(at ...Range) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enough.Add(at...)
}

// follows reports whether Add drops d because its place was passed to Enough.
func (b *Bag) follows(d Diagnostic) bool {
	return d.Severity == Error && d.Subject != nil && b.enough.Has(*d.Subject)
}

// again counts a repeated message if its values are new. It keeps the diagnostic whose values have the shortest text,
// or sort first among texts of equal length, so that the result does not depend on the order of the calls.
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

// HCL adds diagnostics of the HCL library, without the values of names. It returns false if one of them is an error.
func (b *Bag) HCL(ds hcl.Diagnostics) bool {
	for _, d := range ds {
		b.Add(FromHCL(d))
	}
	return !ds.HasErrors()
}

// FromHCL converts a diagnostic of the HCL library.
func FromHCL(d *hcl.Diagnostic) Diagnostic {
	out := Diagnostic{Severity: Error, Summary: d.Summary, Detail: d.Detail, Subject: d.Subject, Context: d.Context}
	if d.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	return out
}

// HasErrors reports whether the bag contains an error.
func (b *Bag) HasErrors() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors > 0
}

// Len returns the number of diagnostics in the bag.
func (b *Bag) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

// Lenient calls f with a new bag. It then adds the diagnostics of the new bag to b, as warnings marked Aside, and
// returns them with their original severities. It is for checks whose failure must not stop a command.
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

// Eased reports whether this is the bag of a Lenient call, whose errors become warnings.
func (b *Bag) Eased() bool { return b.eased }

// Blame marks the errors of the bag as errors about a check block, which fails because of them. unmet is the address of
// the check block. Blame sets the field Unmet of each error in which the field is empty.
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

// Retract removes the diagnostics that Lenient has added. The caller then makes the same checks again.
func (b *Bag) Retract() { b.drop(func(d Diagnostic) bool { return d.Aside }) }

// Instead adds d, and removes the errors that have a place (Subject) and for which follows returns true: d explains
// them, because they result from the same mistake. If Add would drop d (see Enough), Instead does nothing.
func (b *Bag) Instead(d Diagnostic, follows func(Diagnostic) bool) {
	b.mu.Lock()
	dropped := b.follows(d)
	b.mu.Unlock()
	if dropped { // an earlier error about the place explains d, so nothing is added
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

// Move moves the contents of another bag into b.
func (b *Bag) Move(from *Bag) {
	from.mu.Lock()
	ds := from.list
	from.list, from.seen, from.errors = nil, nil, 0
	from.mu.Unlock()
	b.Add(ds...)
}

// List returns the contents, sorted by place in the source, then by address. Diagnostics that have no place and no
// address keep their order. List omits a warning if the bag has an error with the same title about the same place, and
// a message of a check block if the bag has the same message as an error.
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

// withoutOutdated removes the warnings that List omits.
func withoutOutdated(list []Diagnostic) []Diagnostic {
	type about struct {
		title string
		at    Range
	}
	wrong, seen := map[about]bool{}, map[string]bool{}
	for _, d := range list {
		if d.Severity == Error {
			seen[d.text()] = true
		}
		if d.Severity == Error && d.Subject != nil {
			wrong[about{d.Summary, *d.Subject}] = true
		}
	}
	return slices.DeleteFunc(list, func(d Diagnostic) bool {
		return d.Severity == Warning && (d.Subject != nil && wrong[about{d.Summary, *d.Subject}] || d.Aside && seen[d.text()])
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

// Annotate appends a sentence, as a new paragraph, to the detail of each message that the bag contains now.
func (b *Bag) Annotate(sentence string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.list {
		b.list[i].Detail += "\n\n" + sentence
	}
}

// Clear empties the bag, after its contents were shown. It also forgets the places that were passed to Enough.
func (b *Bag) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.seen, b.errors, b.enough = nil, nil, 0, Places{}
}

// A Bug is a panic in Lethe's code that was caught. The function that caught the panic returns the Bug as an error, so
// that its callers close their resources.
type Bug struct {
	What  string // the message of a runtime error, in parentheses; "" for another panic, which may contain a secret
	Stack []byte
}

func (b *Bug) Error() string {
	return fmt.Sprintf("Lethe crashed while it processed an answer of a provider%s. This is a bug in Lethe: please report it with this trace.\n\n%s", b.What, b.Stack)
}

// Caught stops a panic and sets *err to a Bug. If the function that defers Caught did not panic, Caught leaves *err
// unchanged. A function that runs in its own goroutine must defer Caught if nothing else catches its panics.
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
