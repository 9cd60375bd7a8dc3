package combine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is a state file. It has the parts that are judged.
type State struct {
	Outputs   map[string]any   `json:"outputs"`
	Resources []*StateResource `json:"resources"`
	Checks    []any            `json:"check_results"`
}

// A StateResource is a resource in a state.
type StateResource struct {
	Module    string           `json:"module"`
	Mode      string           `json:"mode"`
	Type      string           `json:"type"`
	Name      string           `json:"name"`
	Provider  string           `json:"provider"`
	Instances []*StateInstance `json:"instances"`
}

// has reports whether the state contains the resource or data source at a place.
func (s *State) has(p *place) bool {
	return slices.ContainsFunc(s.Resources, func(r *StateResource) bool { return keyless(r.addr()) == p.addr() })
}

// A StateInstance is an object in a state.
type StateInstance struct {
	Key          any            `json:"index_key"`
	Status       string         `json:"status"`
	Deposed      string         `json:"deposed"`
	Attributes   map[string]any `json:"attributes"`
	Sensitive    []any          `json:"sensitive_attributes"`
	Dependencies []string       `json:"dependencies"`
	CreateFirst  bool           `json:"create_before_destroy"`
}

// addr returns the address of a resource.
func (r *StateResource) addr() string {
	a := r.Type + "." + r.Name
	if r.Mode == "data" {
		a = "data." + a
	}
	if r.Module != "" {
		a = r.Module + "." + a
	}
	return a
}

func (i *StateInstance) addr(r *StateResource) string {
	switch k := i.Key.(type) {
	case string:
		return fmt.Sprintf("%s[%q]", r.addr(), k)
	case float64:
		return fmt.Sprintf("%s[%d]", r.addr(), int(k))
	}
	return r.addr()
}

// managed visits all managed objects.
func (s *State) managed(f func(*StateResource, *StateInstance)) {
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Mode == "managed" {
				f(r, i)
			}
		}
	}
}

// at returns the current object at an address, or nil.
func (s *State) at(addr string) (found *StateInstance) {
	s.managed(func(r *StateResource, i *StateInstance) {
		if i.Deposed == "" && i.addr(r) == addr {
			found = i
		}
	})
	return found
}

// knows reports whether an address has a current object or data. An address with " deposed" at its end has a deposed
// object.
func (s *State) knows(addr string) bool { return stateOf(s)["attributes|"+addr] != nil }

// choose returns the address of a current object, selected by n modulo their number, or "".
func (s *State) choose(n int) string {
	var all []string
	s.managed(func(r *StateResource, i *StateInstance) {
		if i.Deposed == "" {
			all = append(all, i.addr(r))
		}
	})
	slices.Sort(all)
	return append(all, "")[n%max(len(all), 1)]
}

// id returns the provider's ID of an object, or "".
func (i *StateInstance) id() string {
	if i == nil {
		return ""
	}
	id, _ := i.Attributes["id"].(string)
	return id
}

// ids returns the addresses of the boxes and crates that the state contains, by ID.
func (s *State) ids() map[string]string {
	ids := map[string]string{}
	s.managed(func(r *StateResource, i *StateInstance) {
		if id := i.id(); id != "" && strings.HasPrefix(r.Type, "combine_") {
			ids[id] = i.addr(r)
		}
	})
	return ids
}

// state reads the state file. It returns an empty state if the file is missing or empty.
func (x *side) state() (*State, error) {
	s := &State{}
	text, err := os.ReadFile(filepath.Join(x.dir, "terraform.tfstate"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if len(text) == 0 {
		return s, nil
	}
	return s, json.Unmarshal(text, s)
}
