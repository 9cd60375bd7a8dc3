// Package plan represents plans: the changes of objects, and the order of their steps.
//
// A Plan is a set of changes. Each change describes one object: its prior value, its planned value, the action and its
// reason. A plan contains no steps. Order computes the steps from the changes and the dependencies, after planning and
// after loading a saved plan (ADR 6). A plan has no changes for ephemeral resources and for the start of providers:
// plan and apply derive both from the configuration. Plan.Leases only lists ephemeral resources for users.
//
// Of the files order.go, sessions.go, rules.go, emit.go, building.go, first.go, facts.go, steps.go and problem.go, each
// uses only files later in this list. plan.go uses none of these files, and unstored.go uses only plan.go.
package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Action is the kind of change of one object.
type Action uint8

// The actions. DeleteCreate and CreateDelete are replacements with two steps, in the order of their names. ForgetCreate
// is a replacement with one step: the old object only leaves the state.
const (
	NoOp Action = iota
	Create
	Read // read a data source during apply
	Update
	DeleteCreate // destroy the old object, then create the new object
	CreateDelete // create the new object, then destroy the old object (create_before_destroy)
	Delete
	Forget
	ForgetCreate // create a new object and forget the old object (lifecycle.destroy = false)
)

var actionNames = [...]string{"no-op", "create", "read", "update", "delete-create", "create-delete", "delete", "forget", "forget-create"}

func (a Action) String() string { return actionNames[a] }

// MarshalText returns the name of the action, which saved plans contain. The error is always nil.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses the name of an action. It returns an error for an unknown name.
func (a *Action) UnmarshalText(name []byte) error {
	i := slices.Index(actionNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("%q is not an action", name)
	}
	*a = Action(i)
	return nil
}

// Ups reports whether the action creates, updates or reads an object, possibly as a part of a replacement.
func (a Action) Ups() bool {
	return a == Create || a == Read || a == Update || a.Replaces()
}

// Downs reports whether the action destroys or forgets the prior object, possibly as a part of a replacement.
func (a Action) Downs() bool { return a == Delete || a == Forget || a.Replaces() }

// Replaces reports whether the action is a replacement: DeleteCreate, CreateDelete or ForgetCreate.
func (a Action) Replaces() bool { return a == DeleteCreate || a == CreateDelete || a == ForgetCreate }

// Reason is the reason why an action was chosen, if the change alone does not show it. Its values are values of
// action_reason in the JSON formats of plans.
type Reason string

// The reasons.
const (
	NoReason              Reason = ""
	ReplaceTainted        Reason = "replace_because_tainted"
	ReplaceCannotUpdate   Reason = "replace_because_cannot_update"
	ReplaceByRequest      Reason = "replace_by_request"
	ReplaceByTriggers     Reason = "replace_by_triggers"
	UpdateEarlierValue    Reason = "update_because_earlier_value" // an earlier round of the command wrote the object with another value of an ephemeral resource (ADR 52); Terraform has no such reason
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
	ReadNotStored         Reason = "read_because_not_stored" // set during an apply of a saved plan that lacks the result of a data source; no plan contains it
)

// Change is the planned change of one object. The JSON tags define the form of a change in saved plans.
type Change struct {
	Object addr.Object `json:"object"`
	Was    addr.Object `json:"was,omitzero"` // the address of the object before a move; equal to Object if it does not move
	Action Action      `json:"action"`
	Why    Reason      `json:"why,omitzero"`

	// Before is the prior value, null if no object existed. After is the planned value, null if no object will exist.
	// Both have the type of the schema. Their write-only attributes are null.
	Before mark.Value `json:"before"`
	After  mark.Value `json:"after"`
	// Settled is true if the configuration was wholly known, and contains no ephemeral and no write-only values. In
	// this case the provider's plan is final, and apply need not request a plan again. Settled is false for the
	// replacement of an object with private data: the plan was made with the private data, and the new object does not
	// have it.
	Settled bool `json:"settled,omitzero"`
	// If Settled is true, Asked is a digest of the configuration that the provider planned with. If the configuration
	// evaluates to another value at apply, the provider plans again.
	Asked []byte `json:"asked,omitempty"`
	// Unchanged is true if Before and After both equal the object in Entry, and this object was not decoded. Before and
	// After are then NilVal. Only a NoOp may set Unchanged.
	Unchanged bool         `json:"unchanged,omitzero"`
	Entry     *state.Entry `json:"entry"` // the state entry of the refreshed object; nil for a create

	Replace []cty.Path `json:"replace"` // the changed attributes that require the replacement
	Sent    []cty.Path `json:"sent"`    // write-only attributes that the configuration sets
	Lifecycle

	Provider addr.ProviderInstance `json:"provider"` // the provider instance that carries out the change; for a destruction, this may be an instance that the configuration no longer names
	ProviderData

	Importing  *Importing      `json:"importing"`           // the import by which this plan adds the object to the state; nil without an import
	Generated  string          `json:"generated,omitzero"`  // the configuration that Lethe generated for an imported object; "" for none
	Recorded   []addr.Resource `json:"recorded,omitzero"`   // the resources on which the object depends, which the state stores
	Conditions bool            `json:"conditions,omitzero"` // apply visits the object although it does not change, for example because it has postconditions
	Deferral   *Deferral       `json:"deferral,omitempty"`  // set for all changes in Plan.Deferred; in Plan.Changes it is set if a later round (plan and apply) decides about a moved object, or destroys the old object
}

// Lifecycle holds the lifecycle arguments of the object that affect its replacement and its end.
type Lifecycle struct {
	CreateFirst bool   `json:"create_first,omitzero"` // create_before_destroy is set, for the object or for an object that depends on it
	FirstFor    string `json:"first_for,omitzero"`    // the address of the object that sets create_before_destroy; empty if the object itself does
	SkipDestroy bool   `json:"skip_destroy,omitzero"` // lifecycle.destroy = false: the object is forgotten instead of destroyed
	Protected   bool   `json:"protected,omitzero"`    // lifecycle.prevent_destroy = true; if the plan destroys the object nevertheless, the user has permitted this
}

// ProviderData is the provider's data about the object that is not part of its attributes.
type ProviderData struct {
	Private        []byte    `json:"private,omitzero"` // planned private data
	Identity       cty.Value `json:"identity"`         // planned identity; NilVal if the object has none
	BeforeIdentity cty.Value `json:"before_identity"`  // identity in the prior state; NilVal if the object has none
	Legacy         bool      `json:"legacy,omitzero"`  // the provider answered with the legacy type system
}

// Importing describes the import of an object: by ID, or by Identity if ID is "". Unknown is true if the plan does not
// know them.
type Importing struct {
	ID       string    `json:"id"`
	Identity cty.Value `json:"identity"`
	Unknown  bool      `json:"unknown"`
}

// Subject returns the address that the change is about: the object, or the pattern of all instances whose keys are not
// known, such as test_thing.a[*].
func (c *Change) Subject() string {
	if c.Deferral != nil && c.Deferral.Pattern != "" {
		return c.Deferral.Pattern
	}
	return c.Object.String()
}

// Visited reports whether apply has work for the change: any action but NoOp, or an import, a move or conditions of an
// unchanged object. Apply has no work for a NoOp that has a Deferral.
func (c *Change) Visited() bool {
	return c.Action != NoOp || c.Deferral == nil && (c.Importing != nil || c.Was != c.Object || c.Conditions)
}

// EndsCurrent reports whether the change destroys the current object of an instance, and does not only forget it.
func (c *Change) EndsCurrent() bool {
	return c.Action.Downs() && c.Action != Forget && c.Action != ForgetCreate && !c.Object.IsDeposed()
}

// Overrides reports whether the change destroys an object that prevent_destroy protects, because the user has permitted
// this.
func (c *Change) Overrides() bool { return c.Protected && c.EndsCurrent() }

// Visits reports whether apply has work: changes for which Change.Visited is true, an action that the user invokes with
// -invoke, or, in the mode Normal, conditions that did not pass during plan or could not be decided. A plan without
// changes may have such conditions, for example about the time.
func (p *Plan) Visits() bool {
	if p.Requested() || slices.ContainsFunc(p.Changes, (*Change).Visited) {
		return true
	}
	return p.Mode == Normal && slices.ContainsFunc(p.Checks, func(c state.Check) bool {
		return slices.ContainsFunc(c.Objects, func(o state.CheckedObject) bool { return o.Status != state.Pass })
	})
}

// Decides reports whether applying the plan changes, imports, moves or reads an object, so that a later round (a
// further plan and apply) can decide more. Data sources in checks do not count.
func (p *Plan) Decides() bool {
	for _, c := range p.Changes {
		if c.Action != NoOp && c.Why != ReadCheckNested || c.Importing != nil || c.Was != c.Object {
			return true
		}
	}
	return false
}

// OutputChange is the planned change of a root output.
type OutputChange struct {
	Name       string     `json:"name"`
	Action     Action     `json:"action"` // NoOp, Create, Update or Delete
	Before     mark.Value `json:"before"`
	After      mark.Value `json:"after"`
	Sensitive  bool       `json:"sensitive"`
	Deprecated string     `json:"deprecated"`
}

// Mode is the direction of a plan. Refresh-only plans change no objects.
type Mode uint8

// The modes.
const (
	Normal Mode = iota
	Destroy
	RefreshOnly
)

var modeNames = [...]string{"normal", "destroy", "refresh-only"}

func (m Mode) String() string { return modeNames[m] }

// MarshalText returns the name of the mode, which saved plans contain. The error is always nil.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses the name of a mode. It returns an error for an unknown name.
func (m *Mode) UnmarshalText(name []byte) error {
	i := slices.Index(modeNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("%q is not a planning mode", name)
	}
	*m = Mode(i)
	return nil
}

// Variable is the value that the user set for a root variable. Plans have no Variable for ephemeral variables.
type Variable struct {
	Value cty.Value // without marks, before conversion to the type of the variable
}

// ProvisionerSettings are the user's settings for provisioners. A saved plan is applied with the settings that it was
// made with.
type ProvisionerSettings struct {
	// SkipDeposed is true if destroy-time provisioners do not run for the old object of a replacement with
	// create_before_destroy. Terraform and OpenTofu run no provisioners for these objects.
	SkipDeposed bool `json:"spare_deposed"`
}

// Plan is the result of planning. The embedded structs only group fields: they have no methods, and plan files have
// their fields beside the other fields of Plan.
type Plan struct {
	Mode     Mode            `json:"mode"`
	Changes  []*Change       `json:"changes"`  // the changes of objects, sorted by object
	Drift    []*Change       `json:"drift"`    // changes outside of Lethe: Before is from the previous run, After from the refresh
	Outputs  []*OutputChange `json:"outputs"`  // the changes of outputs, sorted by name
	Deferred []*Change       `json:"deferred"` // changes that are left to a later round (plan and apply), sorted by object

	Previous, Refreshed *state.Snapshot `json:"-"` // states before and after the refresh; separate members of a saved plan
	Checks              []state.Check   `json:"checks"`

	Request
	Relevant []Relevant `json:"relevant"`
	Evaluation
	Unstored `json:"unstored,omitzero"`

	ProvisionerSettings // embedded for its keys in the plan file

	// Part is nil if Previous and Refreshed are the whole state. Otherwise they contain only the objects of the
	// resources in Part, which are addresses without keys. Changed is true if Lethe chose the targets, because their
	// configuration changed (plan -changed).
	Part    []string `json:"part"`
	Changed bool     `json:"changed"`

	Origin
	Timestamp time.Time `json:"timestamp"`
	Errored   bool      `json:"errored"`  // planning reported an error or was interrupted, so the plan cannot be applied
	Complete  bool      `json:"complete"` // no errors, no deferred changes, no targets or excludes

	// Leases are the leases that the apply will open. Commands show them together with the plan. Plan files do not
	// contain them, and no decision depends on them.
	Leases []Lease `json:"-"`
}

// Request holds the settings with which the user requested the plan.
type Request struct {
	Variables map[string]Variable `json:"variables"` // values that the user set for root variables, by name, without ephemeral variables
	Ephemeral []string            `json:"ephemeral"` // names of the ephemeral root variables that were set, sorted
	Targets   []addr.Target       `json:"targets"`   // the targets of -target; with -invoke, the action is the first
	Excludes  []addr.Target       `json:"excludes"`
}

// Evaluation holds the facts that planning established by evaluating the configuration. Apply uses these facts instead
// of evaluating again.
type Evaluation struct {
	Functions map[string]string `json:"functions"` // digests of the results of function calls, by the digest of the call

	// Keys are the instance keys that planning decided for each declaration with count or for_each, by the address of
	// the declaration in its module instance. KeysBefore are the keys of module calls in the prior state. Both lack
	// ephemeral resources.
	Keys       map[string][]addr.Key `json:"keys"`
	KeysBefore map[string][]addr.Key `json:"keys_before"`

	Readings []Reading `json:"readings"` // sorted by object

	Invocations []*Invocation `json:"invocations,omitempty"` // planned invocations of actions, in the order of Invocation.Compare

	// LaterInvocations are the invocations that deferred changes may cause, in the order of these changes.
	LaterInvocations []*Invocation `json:"later_invocations,omitempty"`

	NoBefore []addr.ProviderInstance `json:"no_before"` // providers whose configuration in the prior state is not known
}

// Origin identifies the store and the workspace that the state of the plan was read from.
type Origin struct {
	Workspace string          `json:"workspace"`
	Backend   string          `json:"backend"`  // type of the store, such as "s3"; for people and tools that read a saved plan
	Settings  json.RawMessage `json:"settings"` // settings of the store; package backend defines the form
	Place     string          `json:"place"`    // digest of the settings that identify the state in the store; empty if unknown
}

// Partial reports whether the plan covers only a part of the objects: with -target, -exclude or -changed.
func (p *Plan) Partial() bool { return len(p.Targets)+len(p.Excludes) > 0 || p.Changed }

// Requested reports whether the plan was made with -invoke. Such a plan invokes only the action that the user named,
// and changes no objects.
func (p *Plan) Requested() bool {
	return len(p.Invocations) > 0 && p.Invocations[0].Trigger.Requested()
}

// Lease is an ephemeral resource in one module instance that the apply opens, with the receivers of its value: the
// resources, providers and conditions that use it.
type Lease struct {
	Addr      string
	Receivers []string // the addresses of the receivers, sorted
}

// Reading is the prior result of a data source, or the last value of an object that was deleted outside of Lethe. If a
// provider or an ephemeral resource refers to it, apply needs this value to configure the provider with which it
// destroys objects. The states of the plan do not contain it.
type Reading struct {
	Object addr.Object  `json:"object"`
	Entry  *state.Entry `json:"entry"`
}

// Unstored lists the results of data sources that the user excluded from states and plan files (forget_data).
type Unstored struct {
	// Results are the excluded results that planning used: the results of this plan, which Plan.Refreshed lacks, and
	// prior results, which Plan.Readings lacks.
	Results []Result `json:"results,omitempty"`
	// Lacking are the addresses of excluded results that the prior state in a plan file lacks.
	Lacking []addr.Object `json:"lacking,omitempty"`
}

// Result is a result of a data source that is not stored.
type Result struct {
	Object addr.Object  `json:"object"`
	Before bool         `json:"before,omitzero"` // true: a prior result, like a Reading; false: the result of this plan
	Entry  *state.Entry `json:"-"`               // nil in a saved plan

	Provider addr.ProviderInstance `json:"provider"`
}

// Invocation is a planned invocation of an action. The JSON tags define its form in saved plans.
type Invocation struct {
	Action   addr.Instance         `json:"action"`
	Trigger  Trigger               `json:"trigger"`
	Provider addr.ProviderInstance `json:"provider"`
	// Config is the configuration of the action. Write-only arguments are null. If Trigger.Event is before or after the
	// destruction of an object, Config is wholly known and apply uses it. Otherwise apply evaluates the configuration
	// again.
	Config mark.Value `json:"config"`
	// Deferral is set only in Evaluation.LaterInvocations. It is the deferral of the change that causes the invocation.
	// If Deferral.Pattern is set, Action and Trigger.Object have no keys. The key of Action may also be missing if it
	// is not known.
	Deferral *Deferral `json:"deferral,omitempty"`
}

// Trigger is the change that invokes an action. If the user invokes the action with -invoke, only Object is set.
type Trigger struct {
	Object    addr.Object  `json:"object,omitzero"` // with -invoke: the object that is the value of caller; zero if the action does not refer to caller
	Event     config.Event `json:"event,omitzero"`
	Block     int          `json:"block"` // index of the action_trigger block in the resource
	Index     int          `json:"index"` // index of the action in the block
	OnFailure string       `json:"on_failure"`
}

// Requested reports whether the user invokes the action with -invoke, so that no change invokes it.
func (t Trigger) Requested() bool { return t.Event == 0 }

// Compare orders invocations by object, event, block and index, and then by action. Only object and action distinguish
// invocations by -invoke.
func (i *Invocation) Compare(o *Invocation) int {
	a, b := i.Trigger, o.Trigger
	return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Index, b.Index), i.Action.Compare(o.Action))
}

// ReplacedLater reports whether a later round replaces the object of a deferred change, because of -replace or
// replace_triggered_by.
func (c *Change) ReplacedLater() bool {
	return c.Deferral != nil && (c.Why == ReplaceByTriggers || c.Why == ReplaceByRequest)
}

// EventsOf returns the events at which a change with the action a may invoke actions, in their order. It returns nil
// for NoOp, Read and Forget.
func EventsOf(a Action) []config.Event {
	switch a {
	case Create:
		return []config.Event{config.BeforeCreate, config.AfterCreate}
	case Update:
		return []config.Event{config.BeforeUpdate, config.AfterUpdate}
	case Delete:
		return []config.Event{config.BeforeDestroy, config.AfterDestroy}
	case DeleteCreate, CreateDelete:
		return []config.Event{config.BeforeDestroy, config.AfterDestroy, config.BeforeCreate, config.AfterCreate}
	case ForgetCreate:
		return []config.Event{config.BeforeCreate, config.AfterCreate}
	}
	return nil
}

// Relevant is an attribute that a change depends on. Views show a change outside of Lethe only if it concerns a
// relevant attribute.
type Relevant struct {
	Resource addr.AbsResource `json:"resource"`
	Key      addr.Key         `json:"key"`
	Path     cty.Path         `json:"path"`
}

// Applyable reports whether the plan has anything to apply: a change, an import or a move of an object, or a change of
// an output. Data sources in checks do not count, because apply reads them again only if the plan has other work. In
// the mode RefreshOnly, changes outside of Lethe (Drift), changes of outputs and an action invoked with -invoke count.
// If Errored is true, Applyable returns false.
func (p *Plan) Applyable() bool {
	if p.Errored {
		return false
	}
	if p.Mode == RefreshOnly {
		return p.Requested() || p.outputsChange() || slices.ContainsFunc(p.Drift, func(c *Change) bool { return c.Action != NoOp })
	}
	for _, c := range p.Changes {
		if c.Why == ReadCheckNested {
			continue
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
