package view

import (
	"cmp"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// WritePlanJSON writes a plan as `show -json` prints it, format 1.2. It has only one change in memory at a time.
// program is the planned configuration. If program is nil, the document has no configuration section. hosts completes
// addresses of providers without a host. version is the version of the language.
func WritePlanJSON(w io.Writer, p *plan.Plan, program *program.Program, sch provider.Lookup, hosts jsondoc.Hosts, version string) error {
	x := newObjects(sch)
	x.hosts = hosts
	return jsondoc.Write(w, x.planDocument(p, program, version), jsondoc.OneLine)
}

// planDocument is a plan in the form of "show -json".
type planDocument struct {
	Format        string                                  `json:"format_version"`
	Version       string                                  `json:"terraform_version"`
	Variables     iter.Seq2[string, variableValue]        `json:"variables,omitempty"`
	Planned       plannedValues                           `json:"planned_values"`
	Drift         iter.Seq[changeDocument]                `json:"resource_drift,omitempty"`
	Changes       iter.Seq[changeDocument]                `json:"resource_changes,omitempty"`
	Deferred      iter.Seq[deferredDocument]              `json:"deferred_changes,omitempty"`
	Invocations   iter.Seq[invocationDocument]            `json:"action_invocations,omitempty"`
	Later         iter.Seq[laterDocument]                 `json:"deferred_action_invocations,omitempty"`
	Outputs       iter.Seq2[string, outputChangeDocument] `json:"output_changes,omitempty"`
	Prior         *stateDocument                          `json:"prior_state,omitempty"`
	Configuration *configDocument                         `json:"configuration,omitempty"`
	Relevant      iter.Seq[relevantDocument]              `json:"relevant_attributes,omitempty"`
	Checks        []checkDocument                         `json:"checks,omitempty"`
	Timestamp     string                                  `json:"timestamp"`
	Applyable     bool                                    `json:"applyable"`
	Complete      bool                                    `json:"complete"`
	Errored       bool                                    `json:"errored"`
}

// variableValue is a root variable as the user set it. Plans do not contain ephemeral variables.
type variableValue struct {
	Value jsonValue `json:"value"`
}

// plannedValues are the values after the plan is applied, as far as they are known.
type plannedValues struct {
	Outputs iter.Seq2[string, plannedOutput] `json:"outputs,omitempty"`
	Root    moduleDocument[plannedDocument]  `json:"root_module"`
}

// plannedOutput is a root output after the plan is applied. It has a type and a value only if they are known.
type plannedOutput struct {
	Sensitive bool         `json:"sensitive"`
	Type      jsondoc.Type `json:"type,omitzero"`
	Value     jsonValue    `json:"value,omitzero"`
}

// plannedDocument is an object that will exist after the plan is applied.
type plannedDocument struct {
	objectValues
	Identity jsonValue `json:"identity,omitzero"`
}

// changeDocument is a planned change, or a change made outside, in the form of "show -json".
type changeDocument struct {
	Address  string `json:"address"`
	Previous string `json:"previous_address,omitempty"`
	Module   string `json:"module_address,omitempty"`
	objectName
	Provider   string       `json:"provider_name"`
	Deposed    string       `json:"deposed,omitempty"`
	KeyUnknown bool         `json:"resource_key_unknown,omitempty"` // set only for a deferred change
	Change     changeValues `json:"change"`
	Reason     plan.Reason  `json:"action_reason,omitempty"`
}

// changeValues are the actions of a change, in their order, and the object before and after the change.
type changeValues struct {
	Actions         []string           `json:"actions"`
	Before          jsonValue          `json:"before"`
	After           jsonValue          `json:"after"`
	AfterUnknown    flags              `json:"after_unknown"`
	BeforeSensitive flags              `json:"before_sensitive"`
	AfterSensitive  flags              `json:"after_sensitive"`
	ReplacePaths    [][]any            `json:"replace_paths,omitempty"`
	Importing       *importingDocument `json:"importing,omitempty"`
	Generated       string             `json:"generated_config,omitempty"`
	BeforeIdentity  jsonValue          `json:"before_identity,omitzero"`
	AfterIdentity   jsonValue          `json:"after_identity,omitzero"`
}

type importingDocument struct {
	Unknown  bool      `json:"unknown,omitempty"`
	ID       string    `json:"id,omitempty"`
	Identity jsonValue `json:"identity,omitzero"`
}

// deferredDocument is a change that can only be planned after this plan was applied.
type deferredDocument struct {
	Reason string         `json:"reason"`
	Change changeDocument `json:"resource_change"`
}

// laterDocument is an invocation of an action that a deferred change may cause in a later plan.
type laterDocument struct {
	Reason     string             `json:"reason"`
	Invocation invocationDocument `json:"action_invocation"`
}

type outputChangeDocument struct {
	Actions         []string   `json:"actions"`
	Before          jsonValue  `json:"before"`
	After           *jsonValue `json:"after,omitempty"` // nil: the value after the plan is not known
	AfterUnknown    flags      `json:"after_unknown"`
	BeforeSensitive bool       `json:"before_sensitive"`
	AfterSensitive  bool       `json:"after_sensitive"`
}

// relevantDocument is an attribute that was changed outside and that a change of the plan depends on.
type relevantDocument struct {
	Resource  string `json:"resource"`
	Attribute []any  `json:"attribute"`
}

func (x *objects) planDocument(p *plan.Plan, program *program.Program, version string) planDocument {
	changes := review.Ordered(p.Changes)
	doc := planDocument{
		Format: formatPlan, Version: version,
		Variables: jsondoc.Members(p.Variables, func(v plan.Variable) variableValue { return variableValue{jsonValue(v.Value)} }),
		Planned:   x.plannedValues(p, changes),
		Drift:     jsondoc.Each(review.Ordered(p.Drift), x.changeDocument),
		Changes:   jsondoc.Each(changes, x.changeDocument),
		Deferred: jsondoc.Each(review.Ordered(p.Deferred), func(c *plan.Change) deferredDocument {
			doc := x.changeDocument(c)
			if c.Deferral.Pattern != "" {
				doc.Address, doc.KeyUnknown = c.Deferral.Pattern, true
			}
			return deferredDocument{c.Deferral.Reason, doc}
		}),
		Invocations: jsondoc.Each(p.Invocations, x.invocationDocument),
		Later: jsondoc.Each(p.LaterInvocations, func(i *plan.Invocation) laterDocument {
			return laterDocument{i.Deferral.Reason, x.invocationDocument(i)}
		}),
		Outputs: jsondoc.EachNamed(p.Outputs, func(o *plan.OutputChange) (string, outputChangeDocument) { return o.Name, outputChange(p, o) }),
		Relevant: jsondoc.Each(p.Relevant, func(r plan.Relevant) relevantDocument {
			return relevantDocument{r.Resource.Instance(r.Key).String(), pathSteps(r.Path)}
		}),
		Checks: checkDocuments(p.Checks), Timestamp: p.Timestamp.UTC().Format(time.RFC3339),
		Applyable: p.Applyable(), Complete: p.Complete, Errored: p.Errored,
	}
	if prior := withImported(p.Refreshed, changes); hasContent(prior) {
		doc.Prior = new(x.stateDocument(prior, version))
	}
	if program != nil {
		doc.Configuration = x.configDocument(program)
	}
	return doc
}

// withImported returns a state that also has the objects that the plan imports. They exist before the plan is applied,
// and readers of documents expect them in the prior state.
func withImported(s *state.Snapshot, changes []*plan.Change) *state.Snapshot {
	var edit *state.Edit
	for _, c := range changes {
		if c.Importing == nil || c.Entry == nil {
			continue
		}
		if edit == nil {
			edit = s.Edit()
		}
		edit.Put(c.Object, c.Entry)
	}
	if edit == nil {
		return s
	}
	return edit.Done()
}

func (x *objects) plannedValues(p *plan.Plan, changes []*plan.Change) plannedValues {
	var outputs []*plan.OutputChange
	for _, o := range p.Outputs {
		if o.Action != plan.Delete {
			outputs = append(outputs, o)
		}
	}
	var stay []*plan.Change
	for _, c := range changes {
		present := exists(c.After)
		if c.Unchanged {
			present = c.Entry != nil
		}
		if present && !c.Object.IsDeposed() && c.Action != plan.Delete && c.Action != plan.Forget {
			stay = append(stay, c)
		}
	}
	texts := make(map[*plan.Change]string, len(stay))
	for _, c := range stay {
		texts[c] = c.Object.String()
	}
	slices.SortStableFunc(stay, func(a, b *plan.Change) int {
		return cmp.Or(compareInTree(a.Object.Module, b.Object.Module), strings.Compare(texts[a], texts[b]))
	})
	return plannedValues{
		Outputs: jsondoc.EachNamed(outputs, func(o *plan.OutputChange) (string, plannedOutput) {
			doc := plannedOutput{Sensitive: staysSensitive(p, o)}
			if v := o.After.Raw; v != cty.NilVal && v.IsWhollyKnown() {
				doc.Type, doc.Value = jsondoc.Type(v.Type()), jsonValue(v)
			}
			return o.Name, doc
		}),
		Root: moduleTree(addr.ModuleInstance{}, stay, func(c *plan.Change) addr.ModuleInstance { return c.Object.Module }, x.plannedDocument),
	}
}

func (x *objects) plannedDocument(c *plan.Change) plannedDocument {
	p, i := c.Provider.Provider, c.Object.Instance
	_, after := x.Values(c)
	version := int64(0)
	if s := x.Schema(p, i); s != nil {
		version = s.Version
	}
	return plannedDocument{x.valuesOf(i, p, x.hosts.Of(p), version, after), jsondoc.Present(c.Identity)}
}

func (x *objects) changeDocument(c *plan.Change) changeDocument {
	i := c.Object.Instance
	doc := changeDocument{
		Address: i.String(), Module: i.Module.String(), objectName: nameOf(i), Provider: x.hosts.Of(c.Provider.Provider),
		Deposed: c.Object.Deposed, Change: x.changeValues(c), Reason: c.Why,
	}
	if review.Moved(c) {
		doc.Previous = c.Was.Instance.String()
	}
	return doc
}

func (x *objects) changeValues(c *plan.Change) changeValues {
	before, after := x.Values(c)
	f := x.Form(c.Provider.Provider, c.Object.Instance)
	if c.Action == plan.Forget {
		after.Raw = cty.NilVal
	}
	doc := changeValues{
		Actions: actionNames(c.Action), Before: jsonValue(before.Raw), After: jsonValue(after.Raw),
		AfterUnknown: flags{v: cty.EmptyObjectVal}, BeforeSensitive: sensitiveParts(before, f), AfterSensitive: sensitiveParts(after, f),
		Importing: importing(c.Importing), Generated: c.Generated,
		BeforeIdentity: jsondoc.Present(c.BeforeIdentity), AfterIdentity: jsondoc.Present(c.Identity),
	}
	if exists(after) && !after.Raw.IsWhollyKnown() {
		doc.AfterUnknown = flags{v: after.Raw, unknown: true}
	}
	for _, p := range c.Replace {
		// A path into a set is cut at the set, so several paths can be the same.
		if steps := pathSteps(p); !slices.ContainsFunc(doc.ReplacePaths, func(have []any) bool { return reflect.DeepEqual(have, steps) }) {
			doc.ReplacePaths = append(doc.ReplacePaths, steps)
		}
	}
	return doc
}

func importing(i *plan.Importing) *importingDocument {
	if i == nil {
		return nil
	}
	doc := &importingDocument{Unknown: i.Unknown, Identity: jsondoc.Present(i.Identity)}
	if !i.Unknown {
		doc.ID = i.ID
	}
	return doc
}

// pathSteps returns the names and indexes of a path. It stops before an index that diff.StepName cannot name.
func pathSteps(p cty.Path) []any {
	var out []any
	for _, s := range p {
		switch s := s.(type) {
		case cty.GetAttrStep:
			out = append(out, s.Name)
		case cty.IndexStep:
			if _, ok := diff.StepName(s); !ok {
				return out
			}
			out = append(out, jsonValue(s.Key))
		}
	}
	return out
}

// actionNames returns the names of the steps of an action, in their order.
func actionNames(a plan.Action) []string {
	switch a {
	case plan.DeleteCreate:
		return []string{"delete", "create"}
	case plan.CreateDelete:
		return []string{"create", "delete"}
	case plan.ForgetCreate:
		return []string{"forget", "create"}
	}
	return []string{a.String()}
}

func outputChange(p *plan.Plan, o *plan.OutputChange) outputChangeDocument {
	secret := staysSensitive(p, o)
	doc := outputChangeDocument{Actions: actionNames(o.Action), Before: jsonValue(o.Before.Raw), BeforeSensitive: secret, AfterSensitive: secret}
	v := o.After.Raw
	if v == cty.NilVal || v.IsKnown() {
		doc.After = new(jsonValue(v))
	}
	if v != cty.NilVal && !v.IsWhollyKnown() {
		doc.AfterUnknown = flags{v: v, unknown: true}
	}
	return doc
}

// staysSensitive reports whether an output is sensitive before or after the plan, so that the plan hides both values.
func staysSensitive(p *plan.Plan, o *plan.OutputChange) bool {
	return o.Sensitive || p.Previous != nil && p.Previous.Outputs[o.Name].Sensitive
}

// invocationDocument is an invocation in the document of a plan.
type invocationDocument struct {
	Address   string    `json:"address"`
	Type      string    `json:"type"`
	Name      string    `json:"name"`
	Values    jsonValue `json:"config_values"`
	Sensitive flags     `json:"config_sensitive"`
	Unknown   flags     `json:"config_unknown"`
	Provider  string    `json:"provider_name"`
	actionview.PlanTriggers
}

func (x *objects) invocationDocument(i *plan.Invocation) invocationDocument {
	doc := invocationDocument{
		Address: i.Action.String(), Type: i.Action.Type, Name: i.Action.Name, Values: jsonValue(i.Config.Raw),
		Sensitive: sensitiveParts(i.Config, x.Form(i.Provider.Provider, i.Action)), Unknown: flags{v: cty.EmptyObjectVal}, Provider: x.hosts.Of(i.Provider.Provider),
		PlanTriggers: actionview.PlanTriggersOf(i),
	}
	if !i.Config.Raw.IsWhollyKnown() {
		doc.Unknown = flags{v: i.Config.Raw, unknown: true}
	}
	return doc
}
