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
	"github.com/zclconf/go-cty/cty"
)

// The titles of the errors about state files. The first three are also Terraform's and OpenTofu's.
const (
	badFormat    = "Unsupported state file format"
	badContent   = "Invalid state file format"
	badDuplicate = "Duplicate resource instance in state"
	badEmpty     = "State file is empty"
	badEncrypted = "State file is encrypted"
)

// reader reads one state file.
type reader struct {
	jsontext.Scanner
	*names
	bag    *diag.Bag
	snap   *Snapshot
	broken bool // an error was added to the bag

	version    uint64
	hasVersion bool
	later      map[string]int // the positions of the large top-level values that precede the version in the file
	seen       map[string]bool
	extra      extra

	// The following fields have the element that is being read, and the methods that read it. The method values are
	// created once to save allocations.
	block      block
	fields     fields
	onBlock    func([]byte)
	onInstance func()
	onField    func([]byte)
}

// instance is one element of "instances" of a resource while the resource is being read. JSON fields come in any order,
// so the address of the resource may follow its instances.
type instance struct {
	pos      int
	slot     slot
	entry    *Entry
	provider bool                   // the instance has its own field "provider"
	other    *addr.ProviderInstance // the field objectProvider; nil: none
	problem  string
	old      []addr.Resource // the dependencies from "depends_on" of old files, relative to the module
}

// block has the fields of one element of "resources" that were read so far.
type block struct {
	pos       int
	module    []byte
	mode      string
	typ, name string
	provider  addr.ProviderInstance
	given     bool // the element has a field "provider"
	instances []instance
	extra     extra
	problems  []string
}

// fields reads the members of one element of "instances".
type fields struct {
	*reader
	n     *instance
	extra extra
}

func (f *fields) wrong(format string, a ...any) {
	if f.n.problem == "" {
		f.n.problem = fmt.Sprintf(format, a...)
	}
}

// problem adds an error about the content of the file, with the line and the column of the byte offset pos.
func (r *reader) problem(pos int, title, format string, a ...any) {
	r.broken = true
	line, column := jsontext.Position(r.In, pos)
	detail := fmt.Sprintf(format, a...)
	r.bag.Add(diag.Errorf(title, "%s (line %d, column %d of the state file.)", detail, line, column))
}

// finish reports whether the snapshot can be used. If the JSON has a syntax error, finish adds that error.
func (r *reader) finish() bool {
	if r.Err != nil {
		line, column := jsontext.Position(r.In, r.Err.Pos)
		hint := "The file may be truncated, or edited by hand. Nothing was changed. Restore it from a backup."
		r.bag.Add(diag.Errorf(badFormat, "The state file could not be parsed as JSON: %s (line %d, column %d). %s", r.Err.What, line, column, hint))
		return false
	}
	return !r.broken
}

// extra collects the unknown members of a JSON object.
type extra struct{ buf []byte }

func (x *extra) add(key string, value []byte) {
	if x.buf == nil {
		x.buf = []byte{'{'}
	} else {
		x.buf = append(x.buf, ',')
	}
	x.buf = jsontext.AppendString(x.buf, strings.ToValidUTF8(key, "�"))
	x.buf = append(x.buf, ':')
	x.buf = append(x.buf, value...)
}

// object returns the collected members as a JSON object, and empties x. It returns nil if x has no members.
func (x *extra) object() []byte {
	if x.buf == nil {
		return nil
	}
	out := append(x.buf, '}')
	x.buf = nil
	return out
}

// names caches names and lists, so that equal texts are parsed and stored once. Most files repeat a resource type, a
// module or a list of dependencies thousands of times.
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

// once returns parse(b), and caches the result in m by the text b. It does not cache errors.
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

// unquote returns the text of a JSON string. It returns "" if raw is empty, null or any other JSON value.
func unquote(raw string) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	s := jsontext.Scanner{In: []byte(raw)}
	return validText(s.Str())
}

// module decodes the address of a module instance from its JSON text in the file.
func (n *names) module(raw []byte) (addr.ModuleInstance, error) {
	return once(n.modules, raw, func(raw string) (addr.ModuleInstance, error) { return addr.ParseModuleInstance(unquote(raw)) })
}

// provider decodes a provider address from its JSON text in the file. Old addresses, from before providers had
// namespaces, contain no host and mean Terraform's registry.
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

// listText is a list of dependencies with the JSON text from which it was read.
type listText struct {
	text []byte
	list []addr.Resource
}

// known returns the list of dependencies that was read from an equal text before, and the hash of the text, under which
// the caller stores a new list. ok is false if no such list is known.
func (n *names) known(text []byte) (list []addr.Resource, hash uint64, ok bool) {
	hash = maphash.Bytes(n.seed, text)
	l, ok := n.lists[hash]
	return l.list, hash, ok && bytes.Equal(l.text, text)
}

// entry returns an empty entry. It allocates 32 entries at once.
func (n *names) entry() *Entry {
	if len(n.slab) == 0 {
		n.slab = make([]Entry, 32)
	}
	e := &n.slab[0]
	n.slab = n.slab[1:]
	return e
}

// validText returns b as a string, with U+FFFD in place of invalid UTF-8, as package encoding/json does.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "�")
}

// paths are the sensitive paths of one object.
type paths = []cty.Path
