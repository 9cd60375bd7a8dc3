// Package plan is what will happen, and in which order.
//
// A Plan is a set of changes, each the whole story of one object: what it was, what it will be,
// why. It holds no steps: Order derives them, purely, from the changes and the dependencies, in
// the same way after planning and after loading a saved plan (the ADR "the plan stores changes").
// Ephemeral resources and provider sessions are never part of a plan; they follow from the
// configuration in every walk.
//
// Files stand in layers, each above those that it uses: order.go and its rules (sessions.go, rules.go), emit.go,
// building.go, first.go, facts.go, steps.go, problem.go; plan.go uses none of them.
package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Action is what happens to one object.
type Action uint8

// The actions. A replacement is one change with two steps; the name says which comes first.
const (
	NoOp Action = iota
	Create
	Read // a data source, at apply
	Update
	DeleteCreate // replace
	CreateDelete // replace, create_before_destroy
	Delete
	Forget
	ForgetCreate // replace an object with lifecycle.destroy = false
)

var actionNames = [...]string{"no-op", "create", "read", "update", "delete-create", "create-delete", "delete", "forget", "forget-create"}

func (a Action) String() string { return actionNames[a] }

// MarshalText gives the action's name, which stands in saved plans.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a name.
func (a *Action) UnmarshalText(name []byte) error {
	i := slices.Index(actionNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("%q is not an action", name)
	}
	*a = Action(i)
	return nil
}

// Ups reports whether the action has a step that creates, updates or reads.
func (a Action) Ups() bool {
	return a == Create || a == Read || a == Update || a.Replaces()
}

// Downs reports whether the action has a step that destroys or forgets what was there.
func (a Action) Downs() bool { return a == Delete || a == Forget || a.Replaces() }

// Replaces reports whether the action is a replacement.
func (a Action) Replaces() bool { return a == DeleteCreate || a == CreateDelete || a == ForgetCreate }

// Reason is why an action was chosen, where that is not plain from the change: the action_reason
// of the machine formats.
type Reason string

// The reasons.
const (
	NoReason              Reason = ""
	ReplaceTainted        Reason = "replace_because_tainted"
	ReplaceCannotUpdate   Reason = "replace_because_cannot_update"
	ReplaceByRequest      Reason = "replace_by_request"
	ReplaceByTriggers     Reason = "replace_by_triggers"
	DeleteNoResource      Reason = "delete_because_no_resource_config"
	DeleteNoModule        Reason = "delete_because_no_module"
	DeleteWrongRepetition Reason = "delete_because_wrong_repetition"
	DeleteCountIndex      Reason = "delete_because_count_index"
	DeleteEachKey         Reason = "delete_because_each_key"
	DeleteNoMoveTarget    Reason = "delete_because_no_move_target"
	DeleteDisabled        Reason = "delete_because_enabled_false"
	ReadConfigUnknown     Reason = "read_because_config_unknown"
	ReadDependencyPending Reason = "read_because_dependency_pending"
	ReadCheckNested       Reason = "read_because_check_nested"
)

// Change is what happens to one object. Its tags are about its form in saved plans.
type Change struct {
	Object addr.Object
	Was    addr.Object `json:",omitzero"` // where the object was before a move; equal to Object if it did not move
	Action Action
	Why    Reason `json:",omitzero"`

	// Before is null where there was nothing, After null where nothing will be; both of the
	// type's schema, write-only attributes null.
	Before, After mark.Value
	// Settled says that the configuration was wholly known and holds nothing that is sent but not
	// kept: the provider's plan stands, and apply need not ask for it again. It is false for the replacement of an object with
	// private data, which the plan was made with and the new object does not have.
	Settled bool `json:",omitzero"`
	// Asked identifies the configuration that the provider planned with, where it is Settled. A configuration that evaluates
	// to something else at apply is planned again.
	Asked []byte `json:",omitempty"`
	// Unchanged says that Before and After are the stored entry's value and were not decoded;
	// both are NilVal then and Entry has all there is to know. Only for NoOp.
	Unchanged bool         `json:",omitzero"`
	Entry     *state.Entry // the refreshed object; nil for a create

	Replace     []cty.Path // attributes that need the replacement
	Sent        []cty.Path // write-only attributes that the configuration sets
	CreateFirst bool       `json:",omitzero"` // the object is declared create-first, by itself or through another
	FirstFor    string     `json:",omitzero"` // the address because of which its replacement is create-first, if another's
	SkipDestroy bool       `json:",omitzero"` // lifecycle.destroy = false: its end will be to be forgotten

	Provider       addr.ProviderInstance
	Private        []byte    `json:",omitzero"` // planned private data
	Identity       cty.Value // planned identity; NilVal where there is none
	BeforeIdentity cty.Value
	Legacy         bool `json:",omitzero"` // the provider answered with the legacy type system

	Importing  *Importing      // the object is new in state: it was imported by this plan
	Generated  string          `json:",omitzero"` // configuration generated for it
	Recorded   []addr.Resource `json:",omitzero"` // dependencies to be stored with the object
	Conditions bool            `json:",omitzero"` // has postconditions or is otherwise visited at apply though nothing changes
}

// Importing says how an object came in.
type Importing struct {
	ID       string
	Identity cty.Value
	Unknown  bool
}

// Visited reports whether apply has something to do for the change, if only to record it.
func (c *Change) Visited() bool {
	return c.Action != NoOp || c.Importing != nil || c.Was != c.Object || c.Conditions
}

// OutputChange is what happens to a root output.
type OutputChange struct {
	Name          string
	Action        Action // NoOp, Create, Update or Delete
	Before, After mark.Value
	Sensitive     bool
	Deprecated    string
}

// Mode is what kind of plan it is.
type Mode uint8

// The modes.
const (
	Normal Mode = iota
	Destroy
	RefreshOnly
)

var modeNames = [...]string{"normal", "destroy", "refresh-only"}

func (m Mode) String() string { return modeNames[m] }

// MarshalText gives the mode's name, which stands in saved plans.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name.
func (m *Mode) UnmarshalText(name []byte) error {
	i := slices.Index(modeNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("%q is not a planning mode", name)
	}
	*m = Mode(i)
	return nil
}

// Variable is a root variable as it was set.
type Variable struct {
	Value cty.Value // unmarked, before conversion; never of an ephemeral variable
}

// Plan is the outcome of planning.
type Plan struct {
	Mode     Mode
	Changes  []*Change       // sorted by object
	Drift    []*Change       // what refresh found changed: Before is the previous run's, After the refreshed
	Outputs  []*OutputChange // sorted by name
	Deferred []*Change

	Previous, Refreshed *state.Snapshot `json:"-"` // files of their own in a saved plan
	Checks              []state.Check

	Variables map[string]Variable
	Ephemeral []string // names of ephemeral root variables that were set, sorted

	Targets, Excludes []addr.Target
	Relevant          []Relevant
	Functions         map[string]string // digests of function results by call digest

	// Keys are the instances that repeated declarations have in module instances, by their address
	// there, as they were decided; KeysBefore those that module calls had. Of ephemeral blocks there
	// are none.
	Keys, KeysBefore map[string][]addr.Key
	Readings         []Reading               // sorted by object
	NoBefore         []addr.ProviderInstance // those whose settings as they were before are not known

	SpareDeposed bool // destroy-time provisioners are not run for deposed objects

	// Part are the resources, by their addresses without keys, whose objects the states have, where these are a part of
	// the state; nil: they are all of it. Changed says that the targets are not the user's, but what changed.
	Part    []string
	Changed bool

	Workspace string
	Backend   string          // type of the store the state came from, for who looks into a saved plan
	Settings  json.RawMessage // of that store; package backend knows the form
	Place     string          // a digest of what names its place there; "" where that is not known
	Timestamp time.Time
	Errored   bool
	Complete  bool

	// Leases are those that the apply walk will open. They are reported beside a plan and are no part
	// of it: no file holds them, nothing is decided by them.
	Leases []Lease `json:"-"`
}

// Partial reports whether the plan is about a part of the objects that there are.
func (p *Plan) Partial() bool { return len(p.Targets)+len(p.Excludes) > 0 || p.Changed }

// Lease is an ephemeral resource in one module instance, with those that receive its value.
type Lease struct {
	Addr      string
	Receivers []string // addresses, sorted
}

// Reading is what a data source gave as it was asked before, or what an object that was deleted outside was last:
// for the settings of what serves downs. It is no part of a state.
type Reading struct {
	Object addr.Object
	Entry  *state.Entry
}

// Relevant is an attribute that a change depends on: it decides which drift is shown.
type Relevant struct {
	Resource addr.AbsResource
	Key      addr.Key
	Path     cty.Path
}

// Applyable reports whether there is anything to apply.
func (p *Plan) Applyable() bool {
	if p.Errored {
		return false
	}
	if p.Mode == RefreshOnly {
		return p.outputsChange() || slices.ContainsFunc(p.Drift, func(c *Change) bool { return c.Action != NoOp })
	}
	for _, c := range p.Changes {
		if c.Why == ReadCheckNested {
			continue // a check reads again only beside something else
		}
		if c.Action != NoOp || c.Importing != nil || c.Was != c.Object {
			return true
		}
	}
	return p.outputsChange()
}

func (p *Plan) outputsChange() bool {
	for _, o := range p.Outputs {
		if o.Action != NoOp {
			return true
		}
	}
	return false
}
