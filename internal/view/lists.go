package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
)

// These types are the members of -json lines about searches (list blocks), as in Terraform 1.14. The members managed,
// unsure and ignored exist only in Lethe.
type (
	listStart struct {
		Address string          `json:"address"`
		Type    string          `json:"resource_type"`
		Config  json.RawMessage `json:"input_config,omitempty"`
	}
	listFound struct {
		Address string          `json:"address"`
		Name    string          `json:"display_name"`
		ID      json.RawMessage `json:"identity"`
		Version int64           `json:"identity_version"`
		Type    string          `json:"resource_type"`
		Object  json.RawMessage `json:"resource_object,omitempty"`
		Config  string          `json:"config,omitempty"`
		Import  string          `json:"import_config,omitempty"`
		Managed string          `json:"managed,omitempty"`
	}
	listComplete struct {
		Address string `json:"address"`
		Type    string `json:"resource_type"`
		Total   int    `json:"total"`
		Managed int    `json:"managed,omitempty"`
		Unsure  int    `json:"unsure,omitempty"`
		Ignored int    `json:"ignored,omitempty"`
	}
)

type listMembers struct {
	ListComplete *listComplete `json:"list_complete,omitempty"`
	ListFound    *listFound    `json:"list_resource_found,omitempty"`
	ListStart    *listStart    `json:"list_start,omitempty"`
}

// longestName is the maximum number of characters of the display name of a search result, which providers choose.
const longestName = 200

// found returns the line about a search result: the address of the list block, the identity and the name.
func (o Options) found(e event.ListFound) string {
	name := e.Name
	if r := []rune(name); len(r) > longestName {
		name = string(r[:longestName]) + "…"
	}
	line := EscapeLine(e.List.String()) + "   " + EscapeLine(o.scrub(identityLine(e.Identity)))
	if name != "" {
		line += "   " + EscapeLine(o.scrub(name))
	}
	if e.Managed == "unknown" {
		line += "   " + o.paint("(cannot tell whether it is managed)", yellow)
	}
	return line
}

// identityLine returns the attributes of an identity that are set, as in id=a,region=b. If identity is no JSON object,
// it returns the mask of a sensitive value.
func identityLine(identity []byte) string {
	var attrs map[string]json.RawMessage
	if err := json.Unmarshal(identity, &attrs); err != nil {
		return mark.Sensitive.Mask()
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		var text string
		raw := string(attrs[name])
		if json.Unmarshal(attrs[name], &text) == nil && raw != "null" {
			raw = text
		}
		if raw != "null" {
			out = append(out, name+"="+raw)
		}
	}
	return strings.Join(out, ",")
}

// listDone returns the line about the end of a search. It returns "" if the line would have no information.
func listDone(e event.ListDone) string {
	var more []string
	for _, c := range []struct {
		n    int
		text string
	}{{e.Managed, "managed"}, {e.Ignored, "ignored"}} {
		if c.n > 0 {
			more = append(more, fmt.Sprintf("%d %s", c.n, c.text))
		}
	}
	switch {
	case len(more) > 0:
		return fmt.Sprintf("%s: %d shown, %s", EscapeLine(e.List.String()), e.Total, strings.Join(more, ", "))
	case e.Total == 0:
		return EscapeLine(e.List.String()) + ": no results"
	}
	return ""
}
