package guard

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// succeeded reports the provider's diagnostics. It returns false if one of them is an error, or if the answer is
// deferred.
func (a *admission) succeeded() bool {
	a.out.Succeeded = a.of.reportAll(a.answer.diags)
	return a.out.Succeeded && !a.deferred()
}

// outcome reports the diagnostics of a call that changes something, and sets Succeeded. The answer counts even if there
// are errors. If the provider did not answer, outcome sets Unanswered and adds Terms.Unanswered to each diagnostic.
func (a *admission) outcome() {
	if a.answer.unanswered {
		a.out.Unanswered = true
		for i := range a.answer.diags {
			a.answer.diags[i].Detail += "\n\n" + a.of.Object.String() + " " + a.terms.Unanswered
		}
	}
	a.out.Succeeded = a.of.reportAll(a.answer.diags)
}

// deferred reports whether the provider deferred the answer. If the request did not allow this, deferred reports a
// breach of the protocol.
func (a *admission) deferred() bool {
	switch why := a.answer.deferred; {
	case why == "":
		return false
	case a.answer.mayDefer:
		a.out.Outcome = plan.Defer(string(why))
	default:
		a.of.breach("Invalid Deferred Response",
			"%s deferred its answer about %s (reason: %s), which Lethe had not allowed. This is a bug in the provider. Report it to its developers.",
			a.of.Who(), a.of.Object, why)
	}
	return true
}

// when returns the phase of the call, for errors.
func (a *admission) when() string { return a.answer.of.when }

// encoded sets a.out.Wire to the object of the answer as MessagePack. It reports an error and returns false if that
// fails.
func (a *admission) encoded() (ok bool) {
	a.out.Wire, ok = a.of.msgpackOf(a.answer.state, a.title)
	a.answer.wire = a.out.Wire
	return ok
}

// encodedAgain encodes the value again, after it was changed. It reports an error and returns false if that fails.
func (a *admission) encodedAgain() (ok bool) {
	a.out.Wire, ok = a.of.Encode(a.out.Value)
	return ok
}

// decoded decodes the object of the answer. It reports an error and returns false if the object does not match the
// schema.
func (a *admission) decoded() (ok bool) {
	a.out.Value, ok = a.of.Decode(a.out.Wire, a.title)
	return ok
}

// blocksFilled replaces null blocks in the encoded object by empty blocks, as the schema requires. It reports an error
// and returns false if the object cannot be decoded.
func (a *admission) blocksFilled() (ok bool) {
	a.out.Wire, ok = a.of.withBlocks(a.out.Wire, a.title)
	return ok
}

// identityDecoded decodes the identity of the answer. It reports an error and returns false if the identity does not
// match its schema.
func (a *admission) identityDecoded() (ok bool) {
	a.out.Identity, ok = a.of.DecodeIdentity(a.answer.identity)
	return ok
}

// identityGuarded removes the identity if it contains a secret, and returns false then.
func (a *admission) identityGuarded() (ok bool) {
	a.out.Identity, ok = a.identity(a.out.Identity)
	return ok
}

// guarded removes secrets from the object, the private data and the identity. It returns false if it removed any.
func (a *admission) guarded() bool {
	var object, private bool
	if a.out.Value, object = a.object(a.out.Value); !object {
		a.out.Wire = nil
	}
	a.out.Private, private = a.private(a.answer.private)
	return a.identityGuarded() && object && private
}

// known reports an error for each unknown value in the object, and returns false if it found any.
func (a *admission) known() bool { return a.whollyKnown(a.title, a.when()) }

func (a *admission) whollyKnown(title, when string) bool {
	if ctyvalue.WhollyKnown(a.out.Value) {
		return true
	}
	cty.Walk(a.out.Value, func(p cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			a.of.breach(title, "%s left \"%s.%s\" unknown %s, where every value must be known. This is a bug in the provider. Report it to its developers.",
				a.of.Who(), a.of.Object, mark.PathString(p), when)
		}
		return true, nil
	})
	return false
}

// settled makes the value fit for the state: write-only and unknown values become null. It returns false if it reported
// an error. Unknown values are an error only if the call succeeded.
func (a *admission) settled(succeeded bool) bool {
	good := a.nullWriteOnly("Provider produced invalid object", "after apply")
	if ctyvalue.WhollyKnown(a.out.Value) {
		return good
	}
	if succeeded {
		a.whollyKnown("Provider returned invalid result object after apply", "after the apply operation")
		good = false
	}
	a.out.Wire = nil
	a.out.Value, _ = cty.Transform(a.out.Value, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	return good
}

// writeOnlyNulled makes write-only values in the object null. It reports an error for each, and returns false if it
// found any.
func (a *admission) writeOnlyNulled() bool { return a.nullWriteOnly(a.title, a.when()) }

func (a *admission) nullWriteOnly(title, when string) bool {
	t, v := a.of.Type, a.out.Value
	if !t.HasWriteOnly() || v.IsNull() {
		return true
	}
	paths := t.WriteOnly(v)
	for _, p := range paths {
		a.of.breach(title, "%s returned a value for the write-only attribute \"%s.%s\" %s.\n\nWrite-only attributes are never stored, so Lethe dropped the value. This is a bug in the provider. Report it to its developers.",
			a.of.Who(), a.of.Object, mark.PathString(p), when)
	}
	if len(paths) == 0 {
		return true
	}
	a.out.Value, a.out.Wire = t.NullWriteOnly(v), nil
	return false
}

// withoutWriteOnly makes write-only values in the encoded object null, and reports an error for each. If the object
// cannot be decoded, it sets the encoded object to nil. It returns false if it reported an error.
func (a *admission) withoutWriteOnly(title string) bool {
	t, wire := a.of.Type, a.out.Wire
	if !t.HasWriteOnly() || isNull(wire) || a.guard.noWriteOnlyIn(t, wire) {
		return true
	}
	var ok bool
	if a.out.Value, ok = a.of.Decode(wire, title); !ok {
		a.out.Wire = nil
		return false
	}
	if a.nullWriteOnly(title, a.when()) {
		return true
	}
	a.encodedAgain()
	return false
}

// noWriteOnlyIn reports whether the encoded object certainly has no write-only values. If it returns false, the caller
// must decode the object.
func (g *Guard) noWriteOnlyIn(t *Type, wire []byte) bool {
	if g.Closed.Has(shortcut.Wire) {
		return false
	}
	names, all := t.writeOnlyNames()
	return all && nullIn(wire, names)
}

// asAsked reports an error for each planned value that differs from the configuration and that the provider must not
// choose. It returns false if it reported any.
func (a *admission) asAsked() bool {
	t := a.of.Type
	breaches := t.PlanBreaches(a.terms.Prior, t.NullWriteOnly(a.terms.Config.Raw), a.out.Value)
	if len(breaches) == 0 {
		return true
	}
	marks := mark.Union(a.terms.Config.Marks, mark.SensitiveAt(t.SensitivePaths(a.out.Value)))
	for _, b := range breaches {
		a.of.breach(a.title, "%s planned an invalid value for %s: %s.\n\nThis is a bug in the provider. Report it to its developers.",
			a.of.Who(), a.of.AttributeText(b.Path, marks), BreachText(b, marks))
	}
	return false
}

// asPlanned reports an error for each applied value that differs from the plan. It returns false if it reported any.
func (a *admission) asPlanned() bool {
	breaches := a.of.Type.ApplyBreaches(a.terms.Want, a.out.Value)
	if len(breaches) == 0 {
		return true
	}
	marks := a.of.Type.Marked(a.out.Value, a.terms.Config).Marks
	for _, b := range breaches {
		a.of.breach("Provider produced inconsistent result after apply", "When applying changes to %s, %s produced an unexpected new value: %s: %s.\n\nThis is a bug in the provider. Report it to its developers.",
			a.of.Object, a.of.Who(), a.of.AttributeText(b.Path, marks), BreachText(b, marks))
	}
	return false
}

// argumentsKept reports an error for each configured argument that the opening changed. The error does not contain the
// value. It returns false if it reported any.
func (a *admission) argumentsKept() bool {
	good := true
	for _, b := range a.of.Type.PlanBreaches(a.of.Type.Null(), a.terms.Config.Raw, a.out.Value) {
		good = false
		a.of.breach(a.title, "%s changed the configured argument %s while opening it. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.AttributeText(b.Path, a.terms.Config.Marks))
	}
	return good
}

// replacePaths sets the paths that require a replacement. A create replaces nothing. A path that the schema does not
// have, or that contains a secret, is an error. It returns false after an error.
func (a *admission) replacePaths() bool {
	if a.terms.Prior.IsNull() {
		return true
	}
	for _, p := range a.answer.replace {
		if !a.of.Type.HasPath(p) {
			a.of.breach(a.title, "%s requires the replacement of %s because of the attribute \"%s\", which is not in its schema. This is a bug in the provider. Report it to its developers.",
				a.of.Who(), a.of.Object, mark.PathString(p))
			return false
		}
		if origin, hit := a.secretKey(p); hit {
			a.of.breach(a.title, "%s requires the replacement of %s because of an attribute whose key contains %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object, origin)
			return false
		}
	}
	a.out.Replace = a.answer.replace
	return true
}

// missing reports whether the guard has removed the identifier of a new object, so that it cannot be found again.
// answered and identity are the values before the removal.
func (a *admission) missing(answered, identity cty.Value) bool {
	if a.of.Type.Attr("id") == nil {
		return identity != cty.NilVal && a.out.Identity == cty.NilVal
	}
	return !answered.GetAttr("id").IsNull() && a.out.Value.GetAttr("id").IsNull()
}
