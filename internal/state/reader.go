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

// Titles of the errors about state files; the first three are Terraform's and OpenTofu's.
const (
	badFormat    = "Unsupported state file format"
	badContent   = "Invalid state file format"
	badDuplicate = "Duplicate resource instance in state"
	badEmpty     = "State file is empty"
	badEncrypted = "State file is encrypted"
)

// reader reads one file.
type reader struct {
	jsontext.Scanner
	*names
	bag    *diag.Bag
	snap   *Snapshot
	broken bool // an error is in the bag

	version    uint64
	hasVersion bool
	later      map[string]int // positions of top-level values that come before the version
	seen       map[string]bool
	extra      extra

	// The following fields hold the value that is being read, and the methods that read it. The method values are
	// created once to save allocations.
	block      block
	fields     fields
	onBlock    func([]byte)
	onInstance func()
	onField    func([]byte)
}

// instance is one element of a resource's "instances" while the resource is being read. JSON fields come in any order,
// so the address of the resource may follow the instances.
type instance struct {
	pos      int
	slot     slot
	entry    *Entry
	provider bool                   // the instance has its own field "provider"
	other    *addr.ProviderInstance // the field objectProvider; nil: none
	problem  string
	old      []addr.Resource // from "depends_on" of old files; relative to the module
}

// block is one element of "resources", as far as it has been read.
type block struct {
	pos       int
	module    []byte
	mode      string
	typ, name string
	provider  addr.ProviderInstance
	given     bool // the block has a provider
	instances []instance
	extra     extra
	problems  []string
}

// fields reads the members of an instance.
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

// finish reports whether the snapshot can be used. It adds the syntax error, if one occurred.
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

// object returns the collected members as a JSON object, and resets x. It returns nil if x has no members.
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

// once returns parse(b), and caches the result in m. After an error it caches nothing.
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

// unquote returns the text of a JSON string. It returns "" if raw is empty, null or another JSON value.
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

// provider reads a provider address from its text in the file. Addresses from before providers had namespaces contain
// no host. They mean Terraform's registry, which was the only one.
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

// listText is a list of dependencies and the text from which it was read.
type listText struct {
	text []byte
	list []addr.Resource
}

// known returns the list that was read from an equal text. It also returns the hash of the text, under which a new list
// is stored. ok is false if no list is known.
func (n *names) known(text []byte) (list []addr.Resource, hash uint64, ok bool) {
	hash = maphash.Bytes(n.seed, text)
	l, ok := n.lists[hash]
	return l.list, hash, ok && bytes.Equal(l.text, text)
}

// entry returns an empty entry. It allocates entries in blocks.
func (n *names) entry() *Entry {
	if len(n.slab) == 0 {
		n.slab = make([]Entry, 32)
	}
	e := &n.slab[0]
	n.slab = n.slab[1:]
	return e
}

// validText returns b with U+FFFD for invalid UTF-8, as encoding/json does.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "�")
}

// paths are the sensitive paths of one object.
type paths = []cty.Path
