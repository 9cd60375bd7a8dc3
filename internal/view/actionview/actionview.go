// Package actionview has the texts and JSON forms of action invocations. The JSON forms have the same members as in
// Terraform. One form is for the stream (the lines of -json), which
// https://developer.hashicorp.com/terraform/internals/machine-readable-ui documents. The other form is for the document
// of a plan (package github.com/hashicorp/terraform-json).
package actionview

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Cause returns the cause of an invocation, in the words of Terraform.
func Cause(t plan.Trigger) string {
	switch {
	case !t.Requested():
		return fmt.Sprintf("triggered by %s", t.Object)
	case t.Object == (addr.Object{}):
		return "triggered by CLI"
	}
	return fmt.Sprintf("triggered by CLI, called from %s", t.Object)
}

// Title returns the name of an invocation with its cause.
func Title(of event.Invocation) string { return fmt.Sprintf("%s (%s)", of.Action, Cause(of.Trigger)) }

// Texts returns one line for each invocation of a plan. code formats an address.
func Texts(list []*plan.Invocation, code func(string) string) (out []string) {
	for _, i := range list {
		t, by := i.Trigger, i.Trigger.Object.String()
		if i.Deferral != nil && i.Deferral.Pattern != "" {
			by = i.Deferral.Pattern
		}
		text := code(i.Action.String())
		switch {
		case !t.Requested():
			text += fmt.Sprintf(": %s of %s", t.Event, code(by))
		case t.Object != (addr.Object{}):
			text += ": called from " + code(by)
		}
		out = append(out, text)
	}
	return out
}

// Planned is a planned invocation in the stream (the lines of -json).
type Planned struct {
	Action Action `json:"action_addr"`
	Triggers
}

// Hook is an event about an invocation in the stream.
type Hook struct {
	Action Action `json:"action"`
	Triggers
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Action has the address of an action and its parts, in the form of JSON documents.
type Action struct {
	Address string      `json:"addr"`
	Module  string      `json:"module"`
	Action  string      `json:"action"`
	Implied string      `json:"implied_provider"`
	Type    string      `json:"action_type"`
	Name    string      `json:"action_name"`
	Key     jsondoc.Key `json:"action_key"`
}

// ActionOf returns the document about the action with the address i.
func ActionOf(i addr.Instance) Action {
	implied, _, _ := strings.Cut(i.Type, "_")
	return Action{i.String(), i.Module.String(), i.Local(), implied, i.Type, i.Name, jsondoc.Key(i.Key)}
}

// Triggers is the cause of an invocation in the stream. One of the members is set.
type Triggers struct {
	Lifecycle *lifecycle `json:"lifecycle_trigger,omitempty"`
	Requested *request   `json:"action_trigger,omitempty"`
}

type lifecycle struct {
	Resource  any    `json:"triggering_resource"`
	Event     string `json:"triggering_event"`
	Block     int    `json:"action_trigger_block_index"`
	Index     int    `json:"actions_list_index"`
	OnFailure string `json:"on_failure"`
}

// request is an invocation by -invoke. Resource is the object from whose trigger the action is invoked. It is nil if
// the action does not refer to a calling object. Terraform does not have this member.
type request struct {
	Resource any `json:"triggering_resource,omitempty"`
}

// TriggersOf returns the cause of an invocation. resource is the JSON form of the object in the trigger.
func TriggersOf(t plan.Trigger, resource any) Triggers {
	switch {
	case !t.Requested():
		return Triggers{Lifecycle: &lifecycle{resource, eventName(t.Event), t.Block, t.Index, onFailure(t.OnFailure)}}
	case t.Object == (addr.Object{}):
		resource = nil
	}
	return Triggers{Requested: &request{resource}}
}

// PlanTriggers is the cause of an invocation in the document of a plan. One of the members is set.
type PlanTriggers struct {
	Lifecycle *planLifecycle `json:"lifecycle_action_trigger,omitempty"`
	Requested *planRequest   `json:"invoke_action_trigger,omitempty"`
}

type planLifecycle struct {
	Object    string `json:"triggering_resource_address"`
	Event     string `json:"action_trigger_event"`
	Block     int    `json:"action_trigger_block_index"`
	Index     int    `json:"actions_list_index"`
	OnFailure string `json:"on_failure"`
}

// planRequest is an invocation by -invoke. Object is the object from whose trigger the action is invoked, or "".
type planRequest struct {
	Object string `json:"triggering_resource_address,omitempty"`
}

// PlanTriggersOf returns the cause of an invocation.
func PlanTriggersOf(i *plan.Invocation) PlanTriggers {
	t, by := i.Trigger, i.Trigger.Object.Instance.String()
	switch {
	case i.Deferral != nil && i.Deferral.Pattern != "":
		by = i.Deferral.Pattern
	case t.Object == (addr.Object{}):
		by = ""
	}
	if t.Requested() {
		return PlanTriggers{Requested: &planRequest{by}}
	}
	return PlanTriggers{Lifecycle: &planLifecycle{by, eventName(t.Event), t.Block, t.Index, onFailure(t.OnFailure)}}
}

// eventName returns the name of an event, such as AfterCreate.
func eventName(e config.Event) string {
	before, after, _ := strings.Cut(e.String(), "_")
	return upper(before) + upper(after)
}

// onFailure returns the name of a value of on_failure, such as ActionOnFailureHalt.
func onFailure(word string) string { return "ActionOnFailure" + upper(word) }

// upper returns a word with its first byte in upper case.
func upper(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
