package statecmd

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// List is the command `state list`.
var List = &base.Command{
	Name: "state list", Args: "[address...]", Short: "List resources in the state",
	Long: "List resources in the state. This command lists resource instances in the state;\nthe address arguments can be used to filter the instances by resource or module.",
	Examples: [][2]string{
		{"lethe state list", "List all objects"},
		{"lethe state list module.network", "List the objects of a module"},
		{"lethe state list -id=i-0abc", "Find the address of an object"},
	},
	Setup:  base.Flags(defineList, runList),
	Result: true,
}

// Identities is the command `state identities`.
var Identities = &base.Command{
	Name: "state identities", Args: "[address...]", Short: "List the identities of resources in the state",
	Long: "Prints the provider's identity of each object in the state as JSON, by address.\nObjects without an identity are not listed.",
	Examples: [][2]string{
		{"lethe state identities -json module.network", "Print the identities in a module"},
	},
	Setup:  base.Flags(defineList, runIdentities),
	Result: true,
}

type listFlags struct {
	workdir.Options
	id string
}

func defineList(c *base.Call, f *listFlags) {
	f.VarFlags(c)
	f.StateFlag(c)
	c.JSONFlag()
	c.Flags.StringVar(&f.id, "id", "", "Only objects whose attribute \"id\" is this `ID`.")
}

func runList(ctx context.Context, c *base.Call, f *listFlags) int {
	_, found, ok := f.find(ctx, c)
	if !ok {
		return c.UI.DoneDocument()
	}
	if c.View.JSON {
		return listJSON(c, found)
	}
	for _, o := range found {
		c.UI.Print(o.String() + "\n")
	}
	return c.UI.Done(base.ExitOK)
}

// listed is an object in the JSON output of state list.
type listed struct {
	Address string `json:"address"`
	Module  string `json:"module_address,omitempty"`
	Mode    string `json:"mode"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Index   any    `json:"index,omitempty"` // a number or a text
}

func listJSON(c *base.Call, found []addr.Object) int {
	doc := struct {
		FormatVersion string   `json:"format_version"`
		Resources     []listed `json:"resources"`
	}{"1.0", []listed{}}
	for _, o := range found {
		l := listed{Address: o.String(), Module: o.Module.String(), Mode: o.Mode.String(), Type: o.Type, Name: o.Name}
		if n, ok := o.Key.Int(); ok {
			l.Index = n
		} else if s, ok := o.Key.Str(); ok {
			l.Index = s
		}
		doc.Resources = append(doc.Resources, l)
	}
	c.UI.Document(doc)
	return c.UI.DoneDocument()
}

func runIdentities(ctx context.Context, c *base.Call, f *listFlags) int {
	if !c.View.JSON {
		c.Bag.Add(diag.Errorf("The `-json` flag is required", "Identities are only printed as JSON: lethe state identities -json."))
		return c.UI.Fail()
	}
	s, found, ok := f.find(ctx, c)
	if !ok {
		return c.UI.DoneDocument()
	}
	out := map[string]json.RawMessage{}
	for _, o := range found {
		if e := s.Get(o); e != nil && len(e.Identity) > 0 {
			out[o.String()] = e.Identity
		}
	}
	c.UI.Document(out)
	return c.UI.DoneDocument()
}

// find returns the state, and the objects that match the operands and -id, sorted by address. It reports an error and
// returns false if the state cannot be read, or if an operand matches no object.
func (f *listFlags) find(ctx context.Context, c *base.Call) (*state.Snapshot, []addr.Object, bool) {
	st, ok := states.Open(c, &f.Options)
	if !ok {
		return nil, nil, false
	}
	s, ok := read(ctx, c, st)
	if !ok {
		return nil, nil, false
	}
	targets, ok := workdir.Addresses(c, "address", c.Operands, nil)
	if !ok || !anyMatch(s, targets, &c.Bag) {
		return nil, nil, false
	}
	found := f.matches(s, targets)
	slices.SortFunc(found, state.Listed)
	return s, found, true
}

// matches returns each instance of s that the operands and -id select, as its current object.
// An instance that has only deposed objects has no ID, as in Terraform: -id does not find it.
func (f *listFlags) matches(s *state.Snapshot, targets []addr.Target) []addr.Object {
	var found []addr.Object
	for o, e := range s.Objects() {
		if len(targets) > 0 && !slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(o.Instance) }) {
			continue
		}
		if o.IsDeposed() {
			// If the instance has no current object, its first deposed object adds it to the list. The objects of an instance
			// are consecutive in the state, so a look at the last element is enough to list the instance once.
			current := addr.Object{Instance: o.Instance}
			if n := len(found); f.id == "" && s.Get(current) == nil && (n == 0 || found[n-1] != current) {
				found = append(found, current)
			}
		} else if f.id == "" || e.ID() == f.id {
			found = append(found, o)
		}
	}
	return found
}

// anyMatch adds an error and returns false if an address matches no object of the state.
func anyMatch(s *state.Snapshot, targets []addr.Target, bag *diag.Bag) bool {
	for _, t := range targets {
		if len(s.Select(t)) == 0 {
			bag.Add(diag.Errorf("Unknown resource", "The state has no object with the address %s.%s", t, s.Near(t)))
			return false
		}
	}
	return true
}
