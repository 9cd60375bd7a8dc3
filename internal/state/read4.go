package state

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
)

// resourceBlock reads one element of "resources".
func (r *reader) resourceBlock() {
	r.Peek()
	b := &r.block
	*b = block{pos: r.Pos, instances: b.instances[:0]}
	r.Object(r.onBlock)
	if r.Err == nil {
		r.place(b)
	}
}

func (r *reader) blockField(key []byte) {
	b := &r.block
	switch string(key) {
	case "module":
		b.module = r.Quoted()
	case "mode":
		b.mode = r.string(r.Text())
	case "type":
		b.typ = r.string(r.Text())
	case "name":
		b.name = r.string(r.Text())
	case "each": // "list" or "map" in the first files of format 4; ignored, because the instance keys give the same information
		r.Skip()
	case "provider":
		b.provider, b.given = r.providerText(&b.problems)
	case "instances":
		r.Array(r.onInstance)
	default:
		b.extra.add(string(key), r.Scanner.Raw())
	}
}

func (r *reader) providerText(problems *[]string) (addr.ProviderInstance, bool) {
	text := r.Quoted()
	if len(text) <= len(`""`) {
		return addr.ProviderInstance{}, false
	}
	p, err := r.provider(text)
	if err != nil {
		*problems = append(*problems, err.Error()+".")
	}
	return p, true
}

// place stores the objects of one element of "resources" in the snapshot, and reports mistakes. If the element itself
// is wrong, place stores none of its objects. If one of its instances is wrong, place omits only this instance.
func (r *reader) place(b *block) {
	a, ok := r.address(b)
	if !ok {
		return
	}
	if len(b.problems) > 0 {
		for _, p := range b.problems {
			r.problem(b.pos, badContent, "Resource %s: %s", a, p)
		}
		return
	}
	common := b.common()
	res := r.snap.resources[a]
	if res != nil && res.Provider != common {
		r.problem(b.pos, badDuplicate, "Resource %s appears twice in the state file, with different providers.", a)
		return
	}
	for i := range b.instances {
		n := &b.instances[i]
		if !r.acceptable(a, b, n, common) {
			continue
		}
		if res == nil {
			res = &Resource{Addr: a}
			r.snap.resources[a] = res
		}
		if res.at(n.slot) != nil {
			r.problem(n.pos, badDuplicate, "Instance %s appears multiple times in the state file.", objectAt(a, n.slot))
			continue
		}
		res.set(n.slot, n.entry)
		r.snap.count++
	}
	if res != nil {
		res.Provider = common
		res.Extra = b.extra.object()
	}
}

// address returns the address of the resource of an element of "resources". If the mode, type or name is invalid, it
// adds an error and returns false.
func (r *reader) address(b *block) (addr.AbsResource, bool) {
	a := addr.AbsResource{Type: b.typ, Name: b.name}
	switch b.mode {
	case "managed":
		a.Mode = addr.Managed
	case "data":
		a.Mode = addr.Data
	default:
		r.problem(b.pos, "Invalid resource mode in state", "The state contains a resource with the unsupported mode %q (%q %q).", b.mode, b.typ, b.name)
		return a, false
	}
	if !validName(b.typ) || !validName(b.name) || reserved[b.typ] {
		r.problem(b.pos, badContent, "It has a resource with the type %q and the name %q, which are not valid.", b.typ, b.name)
		return a, false
	}
	var err error
	if a.Module, err = r.module(b.module); err != nil {
		r.problem(b.pos, badContent, "It has a resource in a module with an invalid address: %v.", err)
		return a, false
	}
	return a, true
}

// reserved has the words with which an address can begin, so that no resource type may have such a name.
var reserved = map[string]bool{"module": true, "resource": true, "data": true, "ephemeral": true}

// validName reports whether s is an identifier of the configuration language.
func validName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 0x7f && c != utf8.RuneError
		if !letter && (i == 0 || !(c == '-' || c >= '0' && c <= '9')) {
			return false
		}
	}
	return s != ""
}

// acceptable completes an instance after its block is read: it adds the provider and the dependencies in the old form, if
// the instance has none. If the instance has mistakes, acceptable adds an error and returns false.
func (r *reader) acceptable(a addr.AbsResource, b *block, n *instance, common addr.ProviderConfig) bool {
	if !n.provider {
		n.entry.Provider = b.provider
	}
	if n.entry.Recorded == nil {
		for _, d := range n.old {
			d.Module = a.Module.Module()
			n.entry.Recorded = append(n.entry.Recorded, d)
		}
	}
	switch {
	case n.problem == "" && !n.provider && !b.given:
		n.problem = "neither it nor its resource names a provider."
	case n.problem == "" && n.entry.Provider.ProviderConfig != common:
		n.problem = "its provider configuration differs from the other instances of its resource."
	case n.problem == "" && a.Mode == addr.Data && n.slot.deposed != "":
		n.problem = "a data source cannot have deposed objects."
	}
	if n.problem != "" {
		r.problem(n.pos, "Invalid resource instance metadata in state", "Instance %s: %s", objectAt(a, n.slot), n.problem)
		return false
	}
	if n.other != nil {
		n.entry.Provider = *n.other
	}
	return true
}

// common returns the provider configuration that all instances of the resource must have. They may have different
// instances of this configuration, if it has for_each.
func (b *block) common() addr.ProviderConfig {
	for _, n := range b.instances {
		if n.provider {
			return n.entry.Provider.ProviderConfig
		}
	}
	return b.provider.ProviderConfig
}

func objectAt(a addr.AbsResource, s slot) addr.Object {
	return addr.Object{Instance: a.Instance(s.key), Deposed: s.deposed}
}

// instance reads one element of "instances".
func (r *reader) instance() {
	r.Peek()
	r.block.instances = append(r.block.instances, instance{pos: r.Pos, entry: r.entry()})
	r.fields.n = &r.block.instances[len(r.block.instances)-1]
	r.Object(r.onField)
	r.fields.done()
}

func (f *fields) read(key []byte) {
	e := f.n.entry
	switch string(key) {
	case "index_key":
		f.n.slot.key = f.key()
	case "deposed":
		f.n.slot.deposed = validText(f.Text())
	case "status":
		f.status()
	case "schema_version":
		e.Schema = f.schemaVersion()
	case "attributes":
		e.Attrs = f.jsonObject("attributes")
	case "attributes_flat":
		e.Flatmap = f.flatmap()
	case "sensitive_attributes":
		e.Sensitive = f.paths()
	case "identity_schema_version":
		e.IdentitySchema = f.schemaVersion()
	case "identity":
		e.Identity = f.jsonObject("identity")
	case "private":
		e.Private = f.private()
	case "dependencies":
		e.Recorded = f.dependencies()
	case "depends_on":
		f.n.old = f.dependsOn()
	case "create_before_destroy":
		e.CreateFirst = f.Boolean()
	case "skip_destroy":
		e.SkipDestroy = f.Boolean()
	case "prevent_destroy":
		e.Protected = f.Boolean()
	case completeObject:
		e.Complete = f.Boolean()
	case "provider":
		e.Provider, f.n.provider = f.provided()
	case objectProvider:
		if p, ok := f.provided(); ok {
			f.n.other = &p
		}
	default:
		f.extra.add(string(key), f.Scanner.Raw())
	}
}

// provided reads the provider of an object. It returns false if the text is empty.
func (f *fields) provided() (addr.ProviderInstance, bool) {
	var problems []string
	p, ok := f.providerText(&problems)
	if len(problems) > 0 {
		f.wrong("%s", problems[0])
	}
	return p, ok
}

// done completes the entry after its last field.
func (f *fields) done() {
	e := f.n.entry
	e.Extra = f.extra.object()
	switch {
	case e.Attrs != nil && e.Flatmap != nil:
		f.wrong("it has its attributes twice, as an object and as a flat map.")
	case e.Attrs == nil && e.Flatmap == nil:
		e.Attrs = []byte("{}") // missing attributes count as an empty object, as in Terraform and OpenTofu
	}
}

// key reads an instance key.
func (f *fields) key() addr.Key {
	switch c := f.Peek(); {
	case c == 'n':
		f.Word("null")
		return addr.NoKey
	case c == '"':
		return addr.StringKey(f.string(f.Str()))
	}
	raw := f.Scanner.Raw()
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 {
		f.wrong("its key %s is neither a string nor a whole number of 0 or more.", raw)
	}
	return addr.IntKey(max(n, 0))
}

func (f *fields) status() {
	switch s := f.Text(); string(s) {
	case "":
	case "tainted":
		f.n.entry.Tainted = true
	default:
		f.wrong("it has invalid status %q.", s)
	}
}

func (f *fields) schemaVersion() int64 {
	if f.Null() {
		return 0
	}
	pos := f.Pos
	n := f.Uint()
	if n > 1<<62 {
		f.FailAt(pos, "the version is too large")
	}
	return int64(n)
}

// jsonObject returns the text of a JSON object unchanged, or nil for null.
func (f *fields) jsonObject(what string) []byte {
	switch f.Peek() {
	case 'n':
		f.Word("null")
		return nil
	case '{':
	default:
		f.wrong("its %s should be an object.", what)
	}
	return f.Scanner.Raw()
}

func (f *fields) flatmap() map[string]string {
	if f.Null() {
		return nil
	}
	m := map[string]string{}
	f.Object(func(key []byte) {
		name := validText(key)
		m[name] = validText(f.Text())
	})
	return m
}

func (f *fields) private() []byte {
	text := f.Text()
	if len(text) == 0 {
		return nil
	}
	private, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		f.wrong("its private data is not base64: %v.", err)
	}
	return private
}

// dependencies reads a list of resource addresses.
func (f *fields) dependencies() []addr.Resource {
	text := f.Scanner.Raw()
	if f.Err != nil {
		return nil
	}
	list, hash, ok := f.known(text)
	if ok {
		return list
	}
	f.Pos -= len(text)
	list = make([]addr.Resource, 0, bytes.Count(text, []byte(","))+1)
	f.Array(func() {
		d, err := f.dependency(f.Str())
		if err != nil {
			f.wrong("its dependencies are malformed: %v.", err)
		}
		list = append(list, d)
	})
	f.lists[hash] = listText{text, list}
	return list
}

// dependsOn reads the field "depends_on" of the first files of format 4. Its addresses are relative to the module, and
// also name modules and instances. dependsOn keeps only resources of the module itself.
func (f *fields) dependsOn() []addr.Resource {
	var list []addr.Resource
	f.Array(func() {
		if d, err := f.dependency(f.Str()); err == nil && d.Module.IsRoot() {
			list = append(list, d)
		}
	})
	return list
}
