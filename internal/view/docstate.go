package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// WriteStateJSON writes a state as `show -json` prints it, format 1.0. A nil snapshot is an empty
// one.
func WriteStateJSON(w io.Writer, s *state.Snapshot, sch provider.Lookup, version string) error {
	doc := stateDocument{Format: formatState}
	if hasContent(s) {
		doc = newObjects(sch).stateDocument(s, version)
		doc.Checks = checkDocuments(s.Checks)
	}
	return writeDocument(w, doc, oneLine)
}

// stateDocument is a state, also the one before a plan; an empty one has its version alone.
type stateDocument struct {
	Format  string          `json:"format_version"`
	Version string          `json:"terraform_version,omitempty"`
	Values  *stateValues    `json:"values,omitempty"`
	Checks  []checkDocument `json:"checks,omitempty"`
}

type stateValues struct {
	Outputs iter.Seq2[string, storedOutput] `json:"outputs,omitempty"`
	Root    moduleDocument[storedDocument]  `json:"root_module"`
}

type storedOutput struct {
	Sensitive bool      `json:"sensitive"`
	Value     jsonValue `json:"value"`
	Type      jsonType  `json:"type"`
}

// storedDocument is an object of a state.
type storedDocument struct {
	objectValues
	IdentityVersion *int64          `json:"identity_schema_version,omitempty"`
	Identity        json.RawMessage `json:"identity,omitempty"`
	DependsOn       []string        `json:"depends_on,omitempty"`
	Tainted         bool            `json:"tainted,omitempty"`
	Deposed         string          `json:"deposed_key,omitempty"`
}

func hasContent(s *state.Snapshot) bool { return s != nil && s.Len()+len(s.Outputs) > 0 }

// stateDocument is what a state document and the prior state of a plan have in common.
func (x *objects) stateDocument(s *state.Snapshot, version string) stateDocument {
	outputs := members(s.Outputs, func(o state.Output) storedOutput {
		return storedOutput{o.Sensitive, jsonValue(o.Value.Raw), jsonType(o.Value.Raw.Type())}
	})
	closure := s.Closure()
	root := moduleTree(addr.ModuleInstance{}, storedObjects(s), func(o storedObject) addr.ModuleInstance { return o.addr.Module },
		func(o storedObject) storedDocument { return x.storedDocument(o.addr, o.entry, closure) })
	return stateDocument{Format: formatState, Version: version, Values: &stateValues{outputs, root}}
}

// storedObject is an object of a state.
type storedObject struct {
	addr  addr.Object
	entry *state.Entry
}

// storedObjects gives the objects of a state as Terraform and OpenTofu order them: by module, data sources
// first.
func storedObjects(s *state.Snapshot) []storedObject {
	resources := slices.Clone(s.Resources())
	slices.SortStableFunc(resources, func(a, b *state.Resource) int {
		return cmp.Or(a.Addr.Module.Compare(b.Addr.Module), compareModes(a.Addr.Mode, b.Addr.Mode), a.Addr.Compare(b.Addr))
	})
	out := make([]storedObject, 0, s.Len())
	for _, r := range resources {
		for o, e := range r.Objects() {
			out = append(out, storedObject{o, e})
		}
	}
	return out
}

// storedDocument is one object. closure may be nil: dependencies are then those recorded.
func (x *objects) storedDocument(o addr.Object, e *state.Entry, closure *state.Closure) storedDocument {
	p := e.Provider.Provider
	depends := e.Recorded
	if closure != nil {
		depends = closure.Of(o.Instance.Resource(), e.Recorded)
	}
	doc := storedDocument{
		objectValues: x.valuesOf(o.Instance, p, p.String(), e.Schema, x.stored(e, o.Instance)), Tainted: e.Tainted, Deposed: o.Deposed,
	}
	for _, r := range depends {
		doc.DependsOn = append(doc.DependsOn, r.String())
	}
	var identity bytes.Buffer
	if e.Identity != nil && json.Compact(&identity, e.Identity) == nil {
		doc.IdentityVersion, doc.Identity = &e.IdentitySchema, identity.Bytes()
	}
	return doc
}

// ObjectJSON writes one object of a state, as it stands in the state document.
func ObjectJSON(w io.Writer, o addr.Object, e *state.Entry, sch provider.Lookup) error {
	return writeDocument(w, newObjects(sch).storedDocument(o, e, nil), oneLine)
}
