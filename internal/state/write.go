package state

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Write writes the snapshot as a file of format 4, byte for byte as Terraform and OpenTofu do: the same order of
// fields, resources and instances, the same white space and escapes. Unknown fields come after the known ones.
func (s *Snapshot) Write(w io.Writer) error {
	f := fileWriter{writer: writer{jsontext.Writer{W: w, Buf: make([]byte, 0, 64<<10)}}, Snapshot: s}
	return f.file()
}

// Bytes returns the output of Write.
func (s *Snapshot) Bytes() ([]byte, error) { return s.bytes(false) }

// Direct returns the state as a file, like Bytes, but with direct dependencies. A reader that continues from this text,
// such as the recovery of a journal, needs them: a transitive list does not show which dependencies are direct.
func (s *Snapshot) Direct() ([]byte, error) { return s.bytes(true) }

func (s *Snapshot) bytes(direct bool) ([]byte, error) {
	f := fileWriter{Snapshot: s, direct: direct}
	if s != nil && s.source != nil {
		f.Buf = make([]byte, 0, len(s.source)+len(s.source)/16)
	}
	err := f.file()
	return f.Buf, err
}

// fileWriter writes one state file.
type fileWriter struct {
	writer
	*Snapshot
	direct  bool // write the recorded (direct) dependencies, not the transitive ones
	closure *Closure
	slots   []slot

	modules   map[addr.ModuleInstance]string // the addresses as JSON strings
	providers map[addr.ProviderConfig]string
}

func (f *fileWriter) file() error {
	if f.Snapshot == nil {
		f.Snapshot = &Snapshot{}
	}
	if !f.direct {
		f.closure = f.Snapshot.Closure()
	}
	f.modules, f.providers = map[addr.ModuleInstance]string{}, map[addr.ProviderConfig]string{}
	f.Open('{')
	f.Key("version")
	f.Word("4")
	f.KeyText("terraform_version", f.Version)
	f.Key("serial")
	f.Uint(f.Serial)
	f.KeyText("lineage", f.Lineage)
	f.Key("outputs")
	if err := f.outputs(); err != nil {
		return err
	}
	f.Key("resources")
	f.Open('[')
	for _, r := range f.fileOrder() {
		f.block(r)
	}
	f.Close(']')
	f.Key("check_results")
	if err := f.checks(f.Checks); err != nil {
		return err
	}
	f.Members(f.Extra)
	f.Close('}')
	f.Buf = append(f.Buf, '\n')
	f.Flush()
	return f.Err
}

func (f *fileWriter) outputs() error {
	f.Open('{')
	for _, name := range slices.Sorted(maps.Keys(f.Outputs)) {
		f.Key(name)
		if err := f.output(f.Outputs[name]); err != nil {
			return fmt.Errorf("output %q cannot be stored: %w", name, err)
		}
	}
	f.Close('}')
	return nil
}

// fileOrder returns the resources in the order of state files: by the text of the module address, then data sources
// first, then by type and name.
func (f *fileWriter) fileOrder() []*Resource {
	type named struct {
		module string
		*Resource
	}
	list := make([]named, 0, len(f.resources))
	modules := map[addr.ModuleInstance]string{}
	for a, r := range f.resources {
		text, ok := modules[a.Module]
		if !ok {
			text = a.Module.String()
			modules[a.Module] = text
		}
		list = append(list, named{text, r})
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(strings.Compare(a.module, b.module), cmp.Compare(b.Addr.Mode, a.Addr.Mode),
			strings.Compare(a.Addr.Type, b.Addr.Type), strings.Compare(a.Addr.Name, b.Addr.Name))
	})
	out := make([]*Resource, len(list))
	for i, n := range list {
		out[i] = n.Resource
	}
	return out
}

// quotedOnce returns a name as a JSON string. It keeps the result in made for later calls.
func quotedOnce[T interface {
	comparable
	String() string
}](made map[T]string, name T) string {
	text, ok := made[name]
	if !ok {
		text = string(jsontext.AppendString(nil, name.String()))
		made[name] = text
	}
	return text
}

// block writes one element of "resources".
func (f *fileWriter) block(r *Resource) {
	f.Open('{')
	if m := r.Addr.Module; !m.IsRoot() {
		f.Key("module")
		f.Word(quotedOnce(f.modules, m))
	}
	f.KeyText("mode", r.Addr.Mode.String())
	f.KeyText("type", r.Addr.Type)
	f.KeyText("name", r.Addr.Name)
	f.slots = r.ordered(f.slots[:0], fileSlots)
	provider, each := r.fileProvider(f.slots), r.keyed()
	if !each {
		f.Key("provider")
		f.Word(quotedOnce(f.providers, provider))
	}
	f.Key("instances")
	f.Open('[')
	self := r.Addr.Resource()
	for _, s := range f.slots {
		e := r.at(s)
		f.Open('{')
		own := ""
		if each {
			own = addr.ProviderInstance{ProviderConfig: provider, Key: e.Provider.Key}.String()
		}
		f.instance(s, e, own, func() { f.dependencies(self, e.Recorded) })
		if e.Provider.ProviderConfig.Canon() != provider.Canon() {
			f.KeyText(objectProvider, e.Provider.String())
		}
		f.Close('}')
	}
	f.Close(']')
	f.Members(r.Extra)
	f.Close('}')
}

// fileSlots compares two objects of a resource in the order of state files: the instance without a key, then string
// keys, then number keys. A current object precedes its deposed objects.
func fileSlots(a, b slot) int {
	rank := func(k addr.Key) int {
		switch _, text := k.Str(); {
		case k.IsNone():
			return 0
		case text:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a.key), rank(b.key)), a.compare(b))
}

// keyed reports whether an object of the resource uses an instance of a provider configuration with for_each. If so,
// the file names the provider of each object, as OpenTofu does. Otherwise the file names it once for the resource,
// because Terraform does not know such instances and would ignore the key.
func (r *Resource) keyed() bool {
	for _, e := range r.each {
		if !e.Provider.Key.IsNone() {
			return true
		}
	}
	return false
}

// objectProvider is the key with the provider of an object that has another provider configuration than the file names
// for its resource. Terraform and OpenTofu ignore the key.
const objectProvider = "object_provider"

// fileProvider returns the provider configuration that a file names for a resource: the configuration of the first
// current object, or without a current object, of the first deposed object. Objects of an interrupted run may have
// another configuration, but OpenTofu refuses a file with two, and Terraform's format has room for only one. The key
// objectProvider names the others.
func (r *Resource) fileProvider(slots []slot) addr.ProviderConfig {
	for _, s := range slots {
		if s.deposed == "" {
			return r.at(s).Provider.ProviderConfig
		}
	}
	return r.at(slots[0]).Provider.ProviderConfig
}

// dependencies writes the dependencies of an object of resource self: transitively, or unchanged if f.direct is true.
func (f *fileWriter) dependencies(self addr.Resource, recorded []addr.Resource) {
	if f.direct {
		f.recorded(recorded)
		return
	}
	some := false
	for _, id := range f.closure.all(recorded) {
		if !f.closure.listed(self, id) {
			continue
		}
		if !some {
			some = true
			f.Key("dependencies")
			f.Open('[')
		}
		f.Word(f.closure.names[id].text)
	}
	if some {
		f.Close(']')
	}
}
