// Package published has facts about published providers that their schemas do not contain: known defects, attributes
// whose values the provider generates, and arguments of ephemeral resources that read secret managers.
package published

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Defect is a known defect of a provider that takes effect if a write-only argument replaces the stored argument.
type Defect struct {
	Provider string `json:"provider"` // the namespace and the type of the provider, in every registry
	Type     string `json:"type"`
	Argument string `json:"argument"` // the stored argument, as a path of names
	Issue    string `json:"issue"`    // the URL of the issue in the provider's repository
	Effect   string `json:"effect"`   // the effect as a sentence without its full stop
}

type generator struct {
	Provider  string `json:"provider"`
	Type      string `json:"type"`
	Attribute string `json:"attribute"`
}

// reader has additional arguments for an ephemeral resource that reads a secret manager. The stage of a secret's
// version is one of them: a text in the configuration is public, so the guard, which searches output for secrets, then
// accepts this text elsewhere.
type reader struct {
	Provider  string `json:"provider"`
	Type      string `json:"type"`
	Arguments string `json:"arguments"`
}

//go:embed published.json
var text []byte

var known = sync.OnceValue(func() (k struct {
	Defects    []Defect    `json:"defects"`
	Readers    []reader    `json:"readers"`
	Generators []generator `json:"generators"`
	Ephemeral  []generator `json:"ephemeral_generators"`
}) {
	if err := json.Unmarshal(text, &k); err != nil {
		panic(err) // a test checks that the file can be decoded
	}
	return k
})

// DefectOf returns the known defect of a provider for an argument of a resource type, or nil. The host of the provider
// does not matter.
func DefectOf(p addr.Provider, typ, argument string) *Defect {
	for _, d := range known().Defects {
		if d.Provider == p.Namespace+"/"+p.Type && d.Type == typ && d.Argument == argument {
			return &d
		}
	}
	return nil
}

// ReaderArguments returns the additional arguments for an ephemeral resource of a type, as lines of configuration that
// each end with a line break. It returns "" if the resource needs none.
func ReaderArguments(p addr.Provider, typ string) string {
	for _, r := range known().Readers {
		if r.Provider == p.Namespace+"/"+p.Type && r.Type == typ {
			return r.Arguments + "\n"
		}
	}
	return ""
}

// IsGenerator reports whether the provider generates the value of an attribute and stores it only in the state, such as
// a random password. The host of the provider does not matter.
func IsGenerator(p addr.Provider, typ, attribute string) bool {
	for _, g := range known().Generators {
		if g.Provider == p.Namespace+"/"+p.Type && g.Type == typ && g.Attribute == attribute {
			return true
		}
	}
	return false
}

// IsNewAtEachOpening reports whether an ephemeral resource has another value at each opening. Of the built-in
// providers, only lethe_random does.
func IsNewAtEachOpening(p addr.Provider, typ string) bool {
	if p.IsBuiltin() {
		return typ == "lethe_random"
	}
	for _, g := range known().Ephemeral {
		if g.Provider == p.Namespace+"/"+p.Type && g.Type == typ {
			return true
		}
	}
	return false
}
