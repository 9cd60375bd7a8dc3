package guard

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// succeeded reports the provider's diagnostics and sets Succeeded. It returns false if one of the diagnostics is an
// error, or if the provider deferred its answer.
func (a *admission) succeeded() bool {
	a.out.Succeeded = a.of.reportAll(a.answer.diags)
	return a.out.Succeeded && !a.deferred()
}

// outcome reports the diagnostics of a call that changes something, and sets Succeeded. The caller checks the rest of
// the answer even if there are errors. If the provider did not answer, outcome sets Unanswered and appends
// Terms.Unanswered to each diagnostic.
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

// when returns the phase of the call for errors, such as "after apply".
func (a *admission) when() string { return a.answer.of.when }

// encoded sets a.out.Wire to the object of the answer as MessagePack. If the answer has JSON that does not match the
// schema, encoded reports an error and returns false.
func (a *admission) encoded() (ok bool) {
	a.out.Wire, ok = a.of.msgpackOf(a.answer.state, a.title)
	a.answer.wire = a.out.Wire
	return ok
}

// encodedAgain sets a.out.Wire to the encoding of a.out.Value, after a check has changed the value. If encoding fails,
// it reports an error and returns false.
func (a *admission) encodedAgain() (ok bool) {
	a.out.Wire, ok = a.of.Encode(a.out.Value)
	return ok
}

// decoded sets a.out.Value to the decoded object of the answer. It reports an error and returns false if the object
// does not match the schema.
func (a *admission) decoded() (ok bool) {
	a.out.Value, ok = a.of.Decode(a.out.Wire, a.title)
	return ok
}

// blocksFilled replaces null blocks in a.out.Wire, the encoded object, by empty blocks, because a nested block is never
// null. It reports an error and returns false if the object cannot be decoded.
func (a *admission) blocksFilled() (ok bool) {
	a.out.Wire, ok = a.of.withBlocks(a.out.Wire, a.title)
	return ok
}

// identityDecoded sets a.out.Identity to the decoded identity of the answer. It reports an error and returns false if
// the identity does not match its schema.
func (a *admission) identityDecoded() (ok bool) {
	a.out.Identity, ok = a.of.DecodeIdentity(a.answer.identity)
	return ok
}

// identityGuarded sets a.out.Identity to NilVal and returns false if the identity contains a secret.
func (a *admission) identityGuarded() (ok bool) {
	a.out.Identity, ok = a.identity(a.out.Identity)
	return ok
}

// guarded removes forbidden secrets from the object, and the private data or the identity as a whole if they contain
// one. It returns false if it removed a part.
func (a *admission) guarded() bool {
	var object, private bool
	if a.out.Value, object = a.object(a.out.Value); !object {
		a.out.Wire = nil
	}
	a.out.Private, private = a.private(a.answer.private)
	return a.identityGuarded() && object && private
}

// known reports an error for each unknown value in the object, and returns false if it found an unknown value.
func (a *admission) known() bool { return a.whollyKnown(a.title, a.when()) }

func (a *admission) whollyKnown(title, when string) bool {
	if ctyvalue.WhollyKnown(a.out.Value) {
		return true
	}
	cty.Walk(a.out.Value, func(p cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			a.of.breach(title, "%s left \"%s\" unknown %s, where every value must be known. This is a bug in the provider. Report it to its developers.",
				a.of.Who(), a.of.AttributeText(p, a.hidden()), when)
		}
		return true, nil
	})
	return false
}

// hidden returns the marks of the object for messages: those of its configuration, of its schema and of its stored prior
// object.
func (a *admission) hidden() []mark.At {
	marks := mark.Union(a.terms.Config.Marks, mark.SensitiveAt(a.of.Type.SensitivePaths(a.out.Value)))
	if a.terms.Was != nil {
		marks = mark.Union(marks, mark.SensitiveAt(a.terms.Was.Sensitive))
	}
	return marks
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

// writeOnlyNulled makes the values of write-only attributes in the object null. It reports an error for each value, and
// returns false if it found one.
func (a *admission) writeOnlyNulled() bool { return a.nullWriteOnly(a.title, a.when()) }

func (a *admission) nullWriteOnly(title, when string) bool {
	t, v := a.of.Type, a.out.Value
	if !t.HasWriteOnly() || v.IsNull() {
		return true
	}
	paths := t.WriteOnly(v)
	for _, p := range paths {
		a.of.breach(title, "%s returned a value for the write-only attribute \"%s\" %s.\n\nWrite-only attributes are never stored, so Lethe dropped the value. This is a bug in the provider. Report it to its developers.",
			a.of.Who(), a.of.AttributeText(p, a.hidden()), when)
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

// asAsked reports an error for each planned value that differs from the configuration although the provider may not
// choose the value. It returns false if it reported an error.
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

// asPlanned reports an error for each value after apply that differs from a known value of the plan. It returns false
// if it reported an error.
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

// argumentsKept reports an error for each configured argument of an ephemeral resource that the provider changed when
// it opened the resource. The error does not contain the value. argumentsKept returns false if it reported an error.
func (a *admission) argumentsKept() bool {
	good := true
	for _, b := range a.of.Type.PlanBreaches(a.of.Type.Null(), a.terms.Config.Raw, a.out.Value) {
		good = false
		a.of.breach(a.title, "%s changed the configured argument %s while opening it. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.AttributeText(b.Path, a.terms.Config.Marks))
	}
	return good
}

// replacePaths sets a.out.Replace to the paths whose change requires a replacement. For a new object it sets nothing.
// For a path that the schema does not have, or that contains a secret, replacePaths reports an error and returns false.
func (a *admission) replacePaths() bool {
	if a.terms.Prior.IsNull() {
		return true
	}
	for _, p := range a.answer.replace {
		if !a.of.Type.HasPath(p) {
			a.of.breach(a.title, "%s requires the replacement of %s because of the attribute %s, which is not in its schema. This is a bug in the provider. Report it to its developers.",
				a.of.Who(), a.of.Object, a.of.AttributeText(p, a.hidden()))
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

// missing reports whether the removal of secrets has removed the identifier of a new object, so that the object cannot
// be found again. The identifier is the attribute "id", or the identity for a type without this attribute. answered and
// identity are the value and the identity before the removal.
func (a *admission) missing(answered, identity cty.Value) bool {
	if a.of.Type.Attr("id") == nil {
		return identity != cty.NilVal && a.out.Identity == cty.NilVal
	}
	return !answered.GetAttr("id").IsNull() && a.out.Value.GetAttr("id").IsNull()
}
