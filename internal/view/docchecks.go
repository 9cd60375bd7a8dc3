package view

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// checkDocument is the result of the conditions of a resource, an output, a variable or a check block.
type checkDocument struct {
	Address   checkAddress      `json:"address"`
	Status    string            `json:"status"`
	Instances []checkedDocument `json:"instances,omitempty"`
}

// checkAddress says what has the conditions; the mode and the type are those of resources.
type checkAddress struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode,omitempty"`
	Module  string `json:"module,omitempty"`
	Name    string `json:"name"`
	Display string `json:"to_display"`
	Type    string `json:"type,omitempty"`
}

// checkedDocument is the result for one instance.
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

// checkDocuments are the results of conditions, sorted by address.
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

// addressOfCheck reads the address. Outputs have another name here than in states.
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

// splitCheck takes the module off an address such as module.a["x.y"].output.name.
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
