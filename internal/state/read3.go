package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Format 3 is that of Terraform 0.9 to 0.11: modules by path, resources by name and index, and
// attributes as a flat map of strings, which only a provider can turn into an object. What it
// lacks is worked out as Terraform does it: private data is what the metadata holds besides the
// schema version, and deposed objects are numbered.

type module3 struct {
	Path      []string             `json:"path"`
	Outputs   map[string]output3   `json:"outputs"`
	Resources map[string]resource3 `json:"resources"`
}

type output3 struct {
	Sensitive bool            `json:"sensitive"`
	Type      string          `json:"type"`
	Value     json.RawMessage `json:"value"`
}

type resource3 struct {
	Type      string       `json:"type"`
	DependsOn []string     `json:"depends_on"`
	Primary   *instance3   `json:"primary"`
	Deposed   []*instance3 `json:"deposed"`
	Provider  string       `json:"provider"`
}

type instance3 struct {
	ID         string                     `json:"id"`
	Attributes map[string]string          `json:"attributes"`
	Meta       map[string]json.RawMessage `json:"meta"`
	Tainted    bool                       `json:"tainted"`
}

// upgrade3 reads the modules of a file of format 3.
func (r *reader) upgrade3() {
	r.extra = extra{} // settings of backends and the like: nothing of format 4
	pos, ok := r.later["modules"]
	if !ok {
		return
	}
	r.pos = pos
	var modules []module3
	if err := json.Unmarshal(r.scanner.raw(), &modules); err != nil {
		r.problem(pos, badContent, "The state has format version 3, and its modules cannot be read: %v.", err)
		return
	}
	for _, m := range modules {
		if err := r.module3(m); err != nil {
			r.problem(pos, badContent, "The state has format version 3, and its module %q cannot be read: %v.", strings.Join(m.Path, "."), err)
		}
	}
}

func (r *reader) module3(m module3) error {
	if len(m.Path) == 0 || m.Path[0] != "root" {
		return fmt.Errorf("its path does not begin with \"root\"")
	}
	var at addr.ModuleInstance
	for _, name := range m.Path[1:] {
		if !validName(name) {
			return fmt.Errorf("%q is not the name of a module", name)
		}
		at = at.Child(name, addr.NoKey)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Resources)) {
		if err := r.resource3(at, key, m.Resources[key]); err != nil {
			return fmt.Errorf("resource %q: %w", key, err)
		}
	}
	if !at.IsRoot() {
		return nil // outputs of other modules are not state any more
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		out, err := m.Outputs[name].upgrade()
		if err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		r.snap.Outputs[name] = out
	}
	return nil
}

// upgrade gives the output with the type that its value suggests: format 3 has none.
func (o output3) upgrade() (Output, error) {
	t, err := ctyjson.ImpliedType(o.Value)
	if err != nil {
		return Output{}, err
	}
	v, err := ctyjson.Unmarshal(o.Value, t)
	if err != nil {
		return Output{}, err
	}
	switch {
	case o.Type == "list" && allStrings(v):
		v = listOf(v)
	case o.Type == "map" && allStrings(v):
		v = mapOf(v)
	}
	out := Output{Value: mark.Plain(v), Type: v.Type(), Sensitive: o.Sensitive}
	if o.Sensitive {
		out.Value.Marks = []mark.At{{Tag: mark.Sensitive}}
	}
	return out, nil
}

func allStrings(v cty.Value) bool {
	if v.IsNull() || !v.CanIterateElements() {
		return false
	}
	for _, e := range v.Elements() {
		if e.IsNull() || e.Type() != cty.String {
			return false
		}
	}
	return true
}

func listOf(v cty.Value) cty.Value {
	if v.LengthInt() == 0 {
		return cty.ListValEmpty(cty.String)
	}
	return cty.ListVal(v.AsValueSlice())
}

func mapOf(v cty.Value) cty.Value {
	if v.LengthInt() == 0 {
		return cty.MapValEmpty(cty.String)
	}
	return cty.MapVal(v.AsValueMap())
}

func (r *reader) resource3(m addr.ModuleInstance, name string, in resource3) error {
	i, err := address3(m, name)
	if err != nil {
		return err
	}
	p, err := r.provider3(i.Type, in.Provider)
	if err != nil {
		return err
	}
	var deps []addr.Resource
	for _, d := range in.DependsOn {
		if to, err := address3(m, d); err == nil {
			deps = append(deps, to.Resource())
		}
	}
	put := func(deposed string, old *instance3) error {
		e, err := old.upgrade()
		if err != nil {
			return err
		}
		e.Provider, e.Recorded = p, deps
		return r.put3(addr.Object{Instance: i, Deposed: deposed}, e)
	}
	if in.Primary != nil {
		if err := put("", in.Primary); err != nil {
			return err
		}
	}
	for n, old := range in.Deposed {
		if old == nil {
			continue
		}
		if err := put(fmt.Sprintf("%08x", n+1), old); err != nil {
			return err
		}
	}
	return nil
}

// put3 stores an object. Format 4 has one provider for a resource: its first instance's.
func (r *reader) put3(o addr.Object, e *Entry) error {
	res := r.snap.resources[o.Abs()]
	if res == nil {
		res = &Resource{Addr: o.Abs(), Provider: e.Provider.ProviderConfig}
		r.snap.resources[o.Abs()] = res
	}
	e.Provider.ProviderConfig = res.Provider
	s := slot{o.Key, o.Deposed}
	if res.at(s) != nil {
		return fmt.Errorf("it appears more than once")
	}
	res.set(s, e)
	r.snap.count++
	return nil
}

// address3 reads "type.name", "data.type.name" and either with ".0" or ".*" after it.
func address3(m addr.ModuleInstance, s string) (addr.Instance, error) {
	i := addr.Instance{Module: m, Mode: addr.Managed}
	parts := strings.Split(s, ".")
	if parts[0] == "data" {
		i.Mode = addr.Data
		parts = parts[1:]
	}
	if len(parts) < 2 || len(parts) > 3 || reserved[parts[0]] || !validName(parts[0]) || !validName(parts[1]) {
		return i, fmt.Errorf("%q is not the name of a resource", s)
	}
	i.Type, i.Name = parts[0], parts[1]
	if len(parts) == 3 && parts[2] != "*" {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 0 {
			return i, fmt.Errorf("%q ends with what is no index", s)
		}
		i.Key = addr.IntKey(n)
	}
	return i, nil
}

// provider3 reads a provider's name, or takes it from the resource type.
func (r *reader) provider3(typ, name string) (addr.ProviderInstance, error) {
	if name == "" {
		prefix, _, _ := strings.Cut(typ, "_")
		name = "provider." + prefix
	}
	return r.provider(AppendText(nil, name))
}

func (in *instance3) upgrade() (*Entry, error) {
	e := &Entry{Flatmap: in.Attributes, Tainted: in.Tainted}
	if e.Flatmap == nil {
		e.Flatmap = map[string]string{}
	}
	if in.ID != "" {
		e.Flatmap["id"] = in.ID
	}
	if v, ok := in.Meta["schema_version"]; ok {
		n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("its schema version %s is not a whole number of 0 or more", v)
		}
		e.Schema = n
		delete(in.Meta, "schema_version")
	}
	if len(in.Meta) > 0 {
		private, err := json.Marshal(in.Meta)
		if err != nil {
			return nil, err
		}
		e.Private = private
	}
	return e, nil
}
