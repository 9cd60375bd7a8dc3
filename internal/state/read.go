package state

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Titles of what can be wrong with a state file; the first three are Terraform's and OpenTofu's.
const (
	badFormat    = "Unsupported state file format"
	badContent   = "Invalid state file format"
	badDuplicate = "Duplicate resource instance in state"
	badEmpty     = "State file is empty"
	badEncrypted = "State file is encrypted"
)

// Read reads a state file of format 4. The snapshot keeps parts of data, which must not be changed afterwards.
//
// Nothing is ever dropped in silence: a field that cannot be understood is an error, and so is a file
// that is empty or cut off. (That there is no file at all is for the caller to know: both peers
// take an empty file for an empty state and create everything a second time.)
func Read(data []byte, bag *diag.Bag) (*Snapshot, bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		bag.Add(diag.Errorf(badEmpty, "The state file has no content. A state file is never empty, not even one without resources, so this one was probably cut off while it was written. Nothing was changed; restore the file from a backup or, if there never was a state, delete it."))
		return nil, false
	}
	r := newReader(data, bag)
	r.file()
	if !r.finish() {
		return nil, false
	}
	r.snap.source = data
	r.snap.derived = &derived{}
	return r.snap, true
}

// reader reads one file.
type reader struct {
	jsontext.Scanner
	*names
	bag    *diag.Bag
	snap   *Snapshot
	broken bool // an error is in the bag

	version    uint64
	hasVersion bool
	later      map[string]int // where top-level values stand that came before the version
	seen       map[string]bool
	extra      extra

	// What is being read, and the methods that read it as values made once.
	block      block
	fields     fields
	onBlock    func([]byte)
	onInstance func()
	onField    func([]byte)
}

func newReader(data []byte, bag *diag.Bag) *reader {
	r := &reader{Scanner: jsontext.Scanner{In: data}, names: newNames(), bag: bag}
	r.fields.reader = r
	r.onBlock, r.onInstance, r.onField = r.blockField, r.instance, r.fields.read
	return r
}

// problem reports what is wrong with the content at a position.
func (r *reader) problem(pos int, title, format string, a ...any) {
	r.broken = true
	line, column := jsontext.Position(r.In, pos)
	detail := fmt.Sprintf(format, a...)
	r.bag.Add(diag.Errorf(title, "%s (line %d, column %d of the state file.)", detail, line, column))
}

// finish reports a syntax error, if there was one, and whether the snapshot can be used.
func (r *reader) finish() bool {
	if r.Err != nil {
		line, column := jsontext.Position(r.In, r.Err.Pos)
		hint := "The file may have been cut off while it was written, or edited by hand. Nothing was changed; restore it from a backup."
		r.bag.Add(diag.Errorf(badFormat, "The state file could not be parsed as JSON: %s (line %d, column %d). %s", r.Err.What, line, column, hint))
		return false
	}
	return !r.broken
}

// file reads the top level.
func (r *reader) file() {
	r.snap = &Snapshot{Outputs: map[string]Output{}, resources: map[addr.AbsResource]*Resource{}}
	r.seen, r.later = map[string]bool{}, map[string]int{}
	if r.Peek() != '{' {
		r.Expected("an object")
	}
	r.Object(func(key []byte) {
		if r.unique(key) {
			r.top(string(key))
		}
	})
	if r.Err == nil && r.Peek() != 0 {
		r.Fail("something stands after the end of the state")
	}
	if r.Err != nil || r.broken || !r.supported() {
		return
	}
	r.postponed()
	r.snap.Extra = r.extra.object()
}

// unique reports a name that stands twice in the top level.
func (r *reader) unique(key []byte) bool {
	if r.seen[string(key)] {
		r.problem(r.Pos, badContent, "The field %q stands in it twice, and the two may contradict each other.", key)
		r.Skip()
		return false
	}
	r.seen[string(key)] = true
	return true
}

func (r *reader) top(key string) {
	switch key {
	case "version":
		r.version, r.hasVersion = r.Uint(), r.Err == nil
	case "terraform_version":
		r.snap.Version = validText(r.Text())
	case "serial":
		r.snap.Serial = r.Uint()
	case "lineage":
		r.snap.Lineage = validText(r.Text())
	case "outputs", "resources", "check_results", "modules":
		if r.version != 4 {
			r.Peek()
			r.later[key] = r.Pos
			r.Skip()
			return
		}
		r.body(key)
	default:
		r.extra.add(key, r.Scanner.Raw())
	}
}

// body reads one of the large fields of format 4.
func (r *reader) body(key string) {
	switch key {
	case "outputs":
		r.Object(r.output)
	case "resources":
		r.Array(r.resourceBlock)
	case "check_results":
		r.checks()
	case "modules":
		r.problem(r.Pos, badContent, "The file says that it has format version 4, but has the field \"modules\" of version 3. It was probably edited by hand.")
		r.Skip()
	}
}

// postponed reads what came before the version.
func (r *reader) postponed() {
	for _, key := range []string{"outputs", "resources", "check_results"} {
		if pos, ok := r.later[key]; ok && r.Err == nil {
			r.Pos = pos
			r.body(key)
		}
	}
}

// supported reports whether the file is of a version that can be read, and says why not.
func (r *reader) supported() bool {
	by := ""
	if r.snap.Version != "" {
		by = fmt.Sprintf(" It was written by version %s of the program that made it.", r.snap.Version)
	}
	detail := ""
	switch {
	case r.seen["encrypted_data"] && r.seen["encryption_version"]:
		r.bag.Add(diag.Errorf(badEncrypted, "The state is encrypted, and no encryption is configured for it here. Configure the same key provider and method that it was written with."))
		r.broken = true
		return false
	case !r.hasVersion:
		detail = "The state file does not have a \"version\" attribute, which is required to identify the format version."
	case r.version > 4:
		detail = fmt.Sprintf("The state file uses format version %d, which is newer than the versions up to 4 that are supported.%s Use a newer version of this program.", r.version, by)
	case r.version < 4:
		detail = fmt.Sprintf("The state file uses format version %d.%s Only version 4 can be read: let Terraform 0.12 or later rewrite it first (\"terraform refresh\"), which makes it version 4. A file older than version 3 has to go through Terraform 0.11 in the same way before.", r.version, by)
	default:
		return true
	}
	r.bag.Add(diag.Errorf(badFormat, "%s", detail))
	r.broken = true
	return false
}

// extra collects members of an object that are not known.
type extra struct{ buf []byte }

func (x *extra) add(key string, value []byte) {
	if x.buf == nil {
		x.buf = []byte{'{'}
	} else {
		x.buf = append(x.buf, ',')
	}
	x.buf = jsontext.AppendString(x.buf, key)
	x.buf = append(x.buf, ':')
	x.buf = append(x.buf, value...)
}

// object gives what was collected, nil if nothing was, and begins anew.
func (x *extra) object() []byte {
	if x.buf == nil {
		return nil
	}
	out := append(x.buf, '}')
	x.buf = nil
	return out
}

// names remembers every kind of name and list that was read, so that equal ones are parsed and
// kept once: a resource type, a module, or a list of dependencies stands in most files thousands
// of times.
type names struct {
	strings   map[string]string
	modules   map[string]addr.ModuleInstance
	providers map[string]addr.ProviderInstance
	recorded  map[string]addr.Resource
	seed      maphash.Seed
	lists     map[uint64]listText
	sensitive map[string]paths
	slab      []Entry
}

func newNames() *names {
	return &names{
		strings: map[string]string{}, modules: map[string]addr.ModuleInstance{}, providers: map[string]addr.ProviderInstance{},
		recorded: map[string]addr.Resource{}, seed: maphash.MakeSeed(), lists: map[uint64]listText{}, sensitive: map[string]paths{},
	}
}

// once gives what parse makes of b, doing it once for equal ones.
func once[T any](m map[string]T, b []byte, parse func(string) (T, error)) (T, error) {
	if v, ok := m[string(b)]; ok {
		return v, nil
	}
	text := string(b)
	v, err := parse(text)
	if err == nil {
		m[text] = v
	}
	return v, err
}

func (n *names) string(b []byte) string {
	s, _ := once(n.strings, b, func(s string) (string, error) { return validText([]byte(s)), nil })
	return s
}

// unquote gives the text of a JSON string, and "" for null and for nothing.
func unquote(raw string) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	s := jsontext.Scanner{In: []byte(raw)}
	return validText(s.Str())
}

// module reads a module path from its text in the file.
func (n *names) module(raw []byte) (addr.ModuleInstance, error) {
	return once(n.modules, raw, func(raw string) (addr.ModuleInstance, error) { return addr.ParseModuleInstance(unquote(raw)) })
}

// provider reads a provider address from its text in the file. Those from before there were
// namespaces name no host, and were all of one.
func (n *names) provider(raw []byte) (addr.ProviderInstance, error) {
	return once(n.providers, raw, func(raw string) (addr.ProviderInstance, error) {
		s := unquote(raw)
		p, err := addr.ParseProviderInstance(s)
		if p.Provider.Namespace == addr.LegacyNamespace && !strings.Contains(s, "/") {
			p.Provider.Host = addr.TerraformHost
			p.Provider.Type = strings.ToLower(p.Provider.Type)
		}
		if p.Provider == (addr.Provider{Host: addr.TerraformHost, Namespace: addr.LegacyNamespace, Type: "terraform"}) {
			p.Provider = addr.Builtin("terraform")
		}
		return p, err
	})
}

func (n *names) dependency(b []byte) (addr.Resource, error) {
	return once(n.recorded, b, func(s string) (addr.Resource, error) {
		t, err := addr.ParseTarget(s)
		if err == nil && t.Mode == 0 {
			err = fmt.Errorf("%q is a module, and a resource is needed here", s)
		}
		if err != nil {
			return addr.Resource{}, err
		}
		return t.Resource(), nil
	})
}

// listText is a list of dependencies and the text it was read from.
type listText struct {
	text []byte
	list []addr.Resource
}

// known gives the list that was read from the same text before.
func (n *names) known(text []byte) (list []addr.Resource, hash uint64, ok bool) {
	hash = maphash.Bytes(n.seed, text)
	l, ok := n.lists[hash]
	return l.list, hash, ok && bytes.Equal(l.text, text)
}

// entry gives room for an entry; they are made many at a time.
func (n *names) entry() *Entry {
	if len(n.slab) == 0 {
		n.slab = make([]Entry, 32)
	}
	e := &n.slab[0]
	n.slab = n.slab[1:]
	return e
}

// validText is s with what is no UTF-8 replaced, as encoding/json does.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "�")
}
