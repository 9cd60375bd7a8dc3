package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// WriteStateJSON writes a state as `show -json` prints it, format 1.0. A nil snapshot counts as an empty state.
func WriteStateJSON(w io.Writer, s *state.Snapshot, sch provider.Lookup, version string) error {
	doc := stateDocument{Format: formatState}
	if hasContent(s) {
		doc = newObjects(sch).stateDocument(s, version)
		doc.Checks = checkDocuments(s.Checks)
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}

// stateDocument is a state, or the prior state in a plan. The document of an empty state has only its format version.
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
	Sensitive bool         `json:"sensitive"`
	Value     jsonValue    `json:"value"`
	Type      jsondoc.Type `json:"type"`
}

// storedDocument is an object of a state in the form of "show -json".
type storedDocument struct {
	objectValues
	IdentityVersion *int64          `json:"identity_schema_version,omitempty"`
	Identity        json.RawMessage `json:"identity,omitempty"`
	DependsOn       []string        `json:"depends_on,omitempty"`
	Tainted         bool            `json:"tainted,omitempty"`
	Deposed         string          `json:"deposed_key,omitempty"`
}

func hasContent(s *state.Snapshot) bool { return s != nil && s.Len()+len(s.Outputs) > 0 }

// stateDocument returns the document of a state, or of the prior state in a plan.
func (x *objects) stateDocument(s *state.Snapshot, version string) stateDocument {
	outputs := jsondoc.Members(s.Outputs, func(o state.Output) storedOutput {
		return storedOutput{o.Sensitive, jsonValue(o.Value.Raw), jsondoc.Type(o.Value.Raw.Type())}
	})
	closure := s.Closure()
	root := moduleTree(addr.ModuleInstance{}, storedObjects(s), func(o storedObject) addr.ModuleInstance { return o.addr.Module },
		func(o storedObject) storedDocument { return x.storedDocument(o.addr, o.entry, closure) })
	return stateDocument{Format: formatState, Version: version, Values: &stateValues{outputs, root}}
}

// storedObject is an object of a state, with its address.
type storedObject struct {
	addr  addr.Object
	entry *state.Entry
}

// storedObjects returns the objects of a state in the order of Terraform and OpenTofu: by the tree of modules, data
// sources first.
func storedObjects(s *state.Snapshot) []storedObject {
	resources := slices.Clone(s.Resources())
	slices.SortStableFunc(resources, func(a, b *state.Resource) int {
		return cmp.Or(compareInTree(a.Addr.Module, b.Addr.Module), review.CompareModes(a.Addr.Mode, b.Addr.Mode), a.Addr.Compare(b.Addr))
	})
	out := make([]storedObject, 0, s.Len())
	for _, r := range resources {
		for o, e := range r.Objects() {
			out = append(out, storedObject{o, e})
		}
	}
	return out
}

// storedDocument returns the document of one object. Its dependencies come from closure, or from e if closure is nil.
func (x *objects) storedDocument(o addr.Object, e *state.Entry, closure *state.Closure) storedDocument {
	p := e.Provider.Provider
	depends := e.Recorded
	if closure != nil {
		depends = closure.Of(o.Instance.Resource(), e.Recorded)
	}
	doc := storedDocument{
		objectValues: x.valuesOf(o.Instance, p, p.String(), e.Schema, x.Stored(e, o.Instance)), Tainted: e.Tainted, Deposed: o.Deposed,
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

// ObjectJSON writes one object of a state in the form of the state document.
func ObjectJSON(w io.Writer, o addr.Object, e *state.Entry, sch provider.Lookup) error {
	return jsondoc.Write(w, newObjects(sch).storedDocument(o, e, nil), jsondoc.OneLine)
}

// checkDocument is the result of the conditions of a resource, an output, a variable or a check block.
type checkDocument struct {
	Address   checkAddress      `json:"address"`
	Status    string            `json:"status"`
	Instances []checkedDocument `json:"instances,omitempty"`
}

// checkAddress names the declaration with the conditions. Only resources have a mode and a type.
type checkAddress struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode,omitempty"`
	Module  string `json:"module,omitempty"`
	Name    string `json:"name"`
	Display string `json:"to_display"`
	Type    string `json:"type,omitempty"`
}

// checkedDocument is the result of the checks for one instance, in the form of "show -json".
type checkedDocument struct {
	Address  checkedAddress `json:"address"`
	Status   string         `json:"status"`
	Problems []problem      `json:"problems,omitempty"`
}

type checkedAddress struct {
	Key     instanceKey `json:"instance_key,omitzero"`
	Module  string      `json:"module,omitempty"`
	Display string      `json:"to_display"`
}

type problem struct {
	Message string `json:"message"`
}

// checkDocuments returns the documents of the results of conditions, sorted by address.
func checkDocuments(list []state.Check) []checkDocument {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b state.Check) int { return strings.Compare(a.Addr, b.Addr) })
	var out []checkDocument
	for _, c := range sorted {
		doc := checkDocument{Address: addressOfCheck(c), Status: c.Status.String()}
		for _, o := range c.Objects {
			doc.Instances = append(doc.Instances, checkedInstance(c.Kind, o))
		}
		out = append(out, doc)
	}
	return out
}

// addressOfCheck splits the address of a check. The kind "output" of states is "output_value" in this document.
func addressOfCheck(c state.Check) checkAddress {
	out := checkAddress{Kind: c.Kind, Display: c.Addr}
	if c.Kind == "output" {
		out.Kind = "output_value"
	}
	if r, err := addr.ParseTarget(c.Addr); c.Kind == "resource" && err == nil {
		res := r.Resource()
		out.Mode, out.Module, out.Name, out.Type = res.Mode.String(), res.Module.String(), res.Name, res.Type
		return out
	}
	out.Module, out.Name = splitCheck(c.Kind, c.Addr)
	return out
}

// splitCheck splits an address such as module.a["x.y"].output.name into the module and the name. It returns the whole
// address as the name if kind is not in it. module is "" for the root module.
func splitCheck(kind, address string) (module, name string) {
	word := kind + "."
	i := strings.LastIndex("."+address, "."+word)
	if i < 0 {
		return "", address
	}
	return strings.TrimSuffix(address[:i], "."), address[i+len(word):]
}

func checkedInstance(kind string, o state.CheckedObject) checkedDocument {
	doc := checkedDocument{Address: checkedAddress{Display: o.Addr}, Status: o.Status.String()}
	if i, err := addr.ParseInstance(o.Addr); kind == "resource" && err == nil {
		doc.Address.Key, doc.Address.Module = instanceKey(i.Key), i.Module.String()
	} else {
		doc.Address.Module, _ = splitCheck(kind, o.Addr)
	}
	for _, m := range o.Failures {
		doc.Problems = append(doc.Problems, problem{m})
	}
	return doc
}
