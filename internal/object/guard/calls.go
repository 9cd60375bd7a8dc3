package guard

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

var (
	planned          = &call{"Provider produced invalid plan", "during planning", (*admission).planned}
	plannedDestroy   = &call{"Provider produced invalid plan", "", (*admission).plannedDestroy}
	applied          = &call{"Provider produced invalid object", "after apply", (*admission).applied}
	destroyed        = &call{"Provider produced invalid object", "after apply", (*admission).destroyed}
	undone           = &call{"Provider produced invalid object", "", (*admission).undone}
	read             = &call{"Provider produced invalid object", "while refreshing", (*admission).read}
	readData         = &call{"Provider produced invalid object", "in a data source", (*admission).readData}
	listed           = &call{"Provider produced invalid list result", "in a list result", (*admission).listed}
	plannedAction    = &call{"Provider produced invalid plan", "during planning", (*admission).succeeded}
	invoked          = &call{"Provider produced invalid action event", "", (*admission).invoked}
	imported         = &call{"Provider returned invalid value", "while importing", (*admission).imported}
	upgraded         = &call{"Invalid resource state upgrade", "while upgrading the stored object", (*admission).upgraded}
	upgradedIdentity = &call{"Invalid resource identity upgrade", "", (*admission).upgradedIdentity}
	moved            = &call{"Provider returned invalid value", "while moving", (*admission).moved}
	opened           = &call{"Provider produced invalid ephemeral resource instance", "after opening", (*admission).opened}
)

// planned checks the answer to PlanResourceChange for an object that the configuration declares. It returns false if
// the provider reported an error or deferred its answer, or if the object must not be used.
func (a *admission) planned() bool {
	if !a.succeeded() {
		return false
	}
	if !a.planPrivate() || !a.encoded() || !a.plannedObject() || !a.identityDecoded() || !a.identityGuarded() || !a.replacePaths() {
		return a.refuse()
	}
	a.lookAgainAtPlan()
	return a.present(true)
}

// plannedDestroy checks the answer to PlanResourceChange for an object that will be destroyed. It returns false if the
// answer breaks a rule or reports an error.
func (a *admission) plannedDestroy() bool {
	if !a.succeeded() {
		return false
	}
	if !a.planPrivate() {
		return a.refuse()
	}
	if s := a.answer.state; !isNull(s.Msgpack) || s.JSON != nil && string(s.JSON) != "null" {
		a.of.breach(a.title, "%s planned an object for the destruction of %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	a.lookAgainAtPlan()
	a.out.Object = Null
	return true
}

// lookAgainAtPlan makes Guard.Review repeat the search for secrets in the planned values that the provider chose. Such
// a value may be a secret of an ephemeral resource that is opened later.
func (a *admission) lookAgainAtPlan() {
	wire, private, identity := a.out.Wire, a.out.Private, a.out.Identity
	if a.guard.SameWire(wire, a.terms.Sent) {
		wire = nil
	}
	if wire == nil && identity == cty.NilVal && bytes.Equal(private, a.answer.sent) {
		return
	}
	a.lookAgain(func(l *look) {
		l.harmless(wire)
		l.private(private)
		l.identity(identity)
	})
}

// planPrivate searches the planned private data for secrets, unless it equals the private data of the request.
// planPrivate returns false if it found a secret.
func (a *admission) planPrivate() (ok bool) {
	if a.out.Private = a.answer.private; bytes.Equal(a.answer.private, a.answer.sent) {
		return true
	}
	a.out.Private, ok = a.private(a.answer.private)
	return ok
}

// plannedObject checks the planned object. If the planned object equals the proposed object of the request, which Lethe
// computed, it needs no further checks. plannedObject returns false if the object must not be used.
func (a *admission) plannedObject() bool {
	t := a.of.Type
	if a.guard.SameWire(a.out.Wire, a.terms.Sent) && (!t.HasWriteOnly() || a.guard.noWriteOnlyIn(t, a.out.Wire)) {
		a.out.Value = a.terms.Want
		return true
	}
	if !a.decoded() {
		return false
	}
	if a.out.Value.IsNull() {
		a.of.breach(a.title, "%s planned to destroy %s, which is in the configuration. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return false
	}
	if !a.writeOnlyNulled() {
		return false
	}
	if _, kept := a.object(a.out.Value); !kept {
		return false
	}
	return a.answer.legacy || a.asAsked()
}

// applied checks the answer to ApplyResourceChange for an object that was created or updated. The answer may have an
// object even if the provider reports an error. applied returns false if the call failed or the answer broke a rule.
func (a *admission) applied() bool {
	a.outcome()
	if a.answer.state.Msgpack == nil && a.answer.state.JSON == nil {
		if a.out.Succeeded {
			a.of.breach("Provider produced inconsistent result after apply", "%s did not report the result for %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		}
		return false
	}
	if !a.encoded() || !a.decoded() {
		if a.terms.Was == nil { // a created object with an unreadable answer: only its private data can be recorded
			a.rights = rights{}
			a.out.Private, _ = a.private(a.answer.private)
		}
		return a.refuse()
	}
	if a.out.Value.IsNull() {
		if a.out.Succeeded {
			a.of.breach("Provider produced inconsistent result after apply", "When applying changes to %s, %s returned no object: \"Root object was present, but now absent\". This is a bug in the provider. Report it to its developers.", a.of.Object, a.of.Who())
		}
		a.out.Object = Null
		return false
	}
	good := a.settled(a.out.Succeeded)
	readable := a.identityDecoded()
	answered, identity := a.out.Value, a.out.Identity
	kept := a.guarded()
	if !kept && a.terms.Was == nil && a.missing(answered, identity) && a.terms.Missing != nil && a.terms.Missing(a.answer) {
		a.out.Missing = true
		return a.refuse()
	}
	if good = good && kept; good && a.out.Succeeded && !a.answer.legacy {
		good = a.asPlanned()
	}
	if a.out.Identity != cty.NilVal && !a.answer.legacy { // the old SDK checks changes of identities itself
		good = a.identitySteady() && good
	}
	return a.present(good && readable && a.out.Succeeded)
}

// destroyed checks the answer to ApplyResourceChange for an object that should be destroyed. It returns false if the
// call failed, or if an object remains.
func (a *admission) destroyed() bool {
	a.outcome()
	if a.answer.state.Msgpack == nil && a.answer.state.JSON == nil {
		return a.out.Succeeded
	}
	if !a.encoded() {
		return a.refuse()
	}
	if isNull(a.out.Wire) { // after an error, the next refresh shows whether the object still exists
		a.out.Object = Null
		return a.out.Succeeded
	}
	if !a.decoded() {
		return a.refuse()
	}
	if a.out.Succeeded {
		a.of.breach("Provider returned invalid result object after apply", "%s reported that %s is destroyed, but returned an object. The object stays in the state. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
	}
	a.settled(false)
	if !a.guarded() {
		return a.refuse()
	}
	return a.present(false)
}

// undone checks the answer to Provider.Undo, the destruction of an object that was just created. It returns false if
// the provider reports an error, or if an object remains.
func (a *admission) undone() bool {
	return a.of.reportAll(a.answer.diags) && a.answer.state.JSON == nil && isNull(a.answer.state.Msgpack)
}

// read checks the answer to ReadResource. It returns false if the object must not be used, or if a rule was broken.
func (a *admission) read() bool {
	if !a.succeeded() {
		return false
	}
	if !a.encoded() {
		return a.refuse()
	}
	if isNull(a.out.Wire) {
		a.out.Object = Null
		return true
	}
	if !a.guard.SameWire(a.out.Wire, a.terms.Sent) && !a.blocksFilled() || !a.identityDecoded() {
		return a.refuse()
	}
	same := a.of.Type.sameIdentity(a.terms.Was, a.out.Identity)
	if a.guard.SameWire(a.out.Wire, a.terms.Sent) && bytes.Equal(a.answer.private, a.terms.Was.Private) && same && a.terms.Current {
		a.out.Same = true
		return a.present(true)
	}
	if !a.decoded() {
		return a.refuse()
	}
	facts := a.known()
	clean := a.writeOnlyNulled()
	if !facts || !a.guarded() || !a.encodedAgain() { // encodedAgain encodes sets in the order in which the state stores them, and leaves out write-only values
		return a.refuse()
	}
	return a.present(clean)
}

// readData checks the answer to ReadDataSource. It returns false if the result must not be used, or if a rule was
// broken.
func (a *admission) readData() bool {
	if !a.succeeded() {
		return false
	}
	if !a.encoded() || !a.decoded() {
		return a.refuse()
	}
	if a.out.Value.IsNull() {
		a.of.breach("Provider produced null object", "%s returned no object for %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	if !a.known() {
		return a.refuse()
	}
	return a.present(a.guarded())
}

// listed checks one answer to ListResource, which has one result or only diagnostics. A result must have an identity.
// The object of a result is null if the provider did not send it. listed returns false if the provider reported an
// error or the result must not be used.
func (a *admission) listed() bool {
	if !a.succeeded() {
		return false
	}
	x := a.answer
	empty := x.identity.Msgpack == nil && x.identity.JSON == nil
	if empty && x.name == "" && x.state.Msgpack == nil && x.state.JSON == nil {
		return true
	}
	if a.of.Type.Identity == nil || empty {
		a.of.breach(a.title, "%s returned a result without an identity for %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	if !a.identityDecoded() {
		return a.refuse()
	}
	if id := a.out.Identity; id == cty.NilVal || !id.IsWhollyKnown() || identifiesNothing(id) {
		a.of.breach(a.title, "%s returned a result for %s whose identity is null or unknown. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	if !a.identityGuarded() || !a.listedObject() {
		return a.refuse()
	}
	a.out.Name = a.guard.Secrets.Scrub(x.name)
	if mentions(a.out.Name, SensitiveTexts(mark.Value{Raw: a.out.Value, Marks: mark.SensitiveAt(a.of.Type.SensitivePaths(a.out.Value))})) {
		a.out.Name = mark.Sensitive.Mask()
	}
	return a.present(true)
}

// invoked checks one answer to InvokeAction: a progress message, or the end of the action. It returns false if the
// action failed.
func (a *admission) invoked() bool {
	if x := a.answer; !x.ended && !x.unanswered && len(x.diags) == 0 {
		a.out.Name = progressText(x.name, a.guard.Secrets.ScrubMessage)
		return true
	}
	a.out.Ended = true
	a.outcome()
	return a.out.Succeeded
}

// mostProgress is the maximum length of a progress message, in bytes.
const mostProgress = 4 << 10

// progressText shortens a progress message, and removes its control characters except for line breaks. scrub masks the
// secrets in it: secrets with control characters, secrets between whose letters the provider wrote control characters,
// and both before the cut, because the beginning of a secret is not found.
func progressText(s string, scrub func(string) string) string {
	s = scrub(strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(scrub(s), "\uFFFD"))))
	if len(s) > mostProgress {
		s = strings.ToValidUTF8(s[:mostProgress], "") + "…"
	}
	return s
}

// listedObject checks the object of a list result. The value is null if the provider did not send the object.
// listedObject returns false if the object must not be used.
func (a *admission) listedObject() bool {
	if !a.encoded() {
		return false
	}
	if isNull(a.out.Wire) {
		a.out.Value = a.of.Type.Null()
		return true
	}
	if !a.blocksFilled() || !a.decoded() || !a.known() {
		return false
	}
	clean := a.writeOnlyNulled()
	var kept bool
	a.out.Value, kept = a.object(a.out.Value)
	return clean && kept
}

// imported checks the answer to ImportResourceState. It uses the first object in the answer with the type of the
// import. It returns false if the provider found no object, if the object must not be used, or if a rule was broken.
func (a *admission) imported() bool {
	if !a.succeeded() || !a.oneObject() {
		return false
	}
	found := a.answer.found
	if len(found) == 0 {
		a.out.Object = Null
		return false
	}
	for len(found) > 0 && found[0].Type != a.of.Type.Name {
		found = found[1:]
	}
	if len(found) == 0 {
		a.of.breach(a.title, "%s imported no object of type %s for %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Type.Name, a.of.Object)
		return a.refuse()
	}
	a.answer.state, a.answer.private, a.answer.identity = found[0].State, found[0].Private, found[0].Identity
	if !a.encoded() {
		return a.refuse()
	}
	clean := a.withoutWriteOnly("Import returned a non-null value for a write-only attribute")
	if !clean && a.out.Wire == nil {
		return a.refuse()
	}
	if isNull(a.out.Wire) {
		a.out.Object = Null
		return false
	}
	if !a.decoded() || !a.identityDecoded() || !a.guarded() {
		return a.refuse()
	}
	if !ctyvalue.WhollyKnown(a.out.Value) {
		if a.settled(false); !a.encodedAgain() {
			return a.refuse()
		}
	}
	if clean && !a.blocksFilled() {
		return a.refuse()
	}
	return a.present(clean)
}

// oneObject returns false and reports an error if an import found several objects, unless Terms.Several permits this.
func (a *admission) oneObject() bool {
	n := len(a.answer.found)
	switch {
	case n < 2:
	case a.terms.Several:
		a.of.To.Add(diag.Warningf("Only one object was imported", "%s found %d objects for the import id %q. Only the first of type %s was imported, as %s. Declare and import the others one by one.",
			a.of.Who(), n, a.terms.ID, a.of.Type.Name, a.of.Object))
	default:
		a.of.breach("Multiple import states not supported", "%s found %d objects for the import id %q of %s. An import block imports one object: use an id of one object.",
			a.of.Who(), n, a.terms.ID, a.of.Object)
		return false
	}
	return true
}

// upgraded checks the answer to UpgradeResourceState. The object is not decoded unless a rule needs its value. upgraded
// returns false if the object must not be used.
func (a *admission) upgraded() bool {
	if !a.succeeded() {
		return false
	}
	if !a.encoded() {
		return a.refuse()
	}
	if isNull(a.out.Wire) {
		a.of.breach(a.title, "%s upgraded the stored object of %s to null. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	clean := a.withoutWriteOnly(a.title)
	wire := a.out.Wire
	harmless := a.harmless(wire)
	a.lookAgain(func(l *look) { l.harmless(wire) })
	if !clean || !harmless || !a.blocksFilled() {
		return a.refuse()
	}
	return a.present(true)
}

// upgradedIdentity checks the answer to UpgradeResourceIdentity. It returns false if the identity must not be used.
func (a *admission) upgradedIdentity() bool {
	if !a.succeeded() {
		return false
	}
	if !a.identityDecoded() {
		return a.refuse()
	}
	identity := a.out.Identity
	if identity == cty.NilVal || identity.IsNull() || !identity.IsWhollyKnown() {
		a.of.breach(a.title, "%s upgraded the stored identity of %s from schema version %d to version %d, and the result is null or unknown. This is a bug in the provider. Report it to its developers.",
			a.of.Who(), a.of.Object, a.terms.Was.IdentitySchema, a.of.Type.Identity.Version)
		return a.refuse()
	}
	if !a.identityGuarded() {
		return a.refuse()
	}
	a.lookAgain(func(l *look) { l.identity(identity) })
	return a.present(true)
}

// moved checks the answer to MoveResourceState. It returns false if the object must not be used, or if a rule was
// broken.
func (a *admission) moved() bool {
	if !a.succeeded() {
		return false
	}
	if !a.encoded() || !a.blocksFilled() {
		return a.refuse()
	}
	if isNull(a.out.Wire) {
		a.of.breach("Unable to Move Resource State", "%s returned no object when it moved %s to %s. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.terms.From, a.of.Object)
		return a.refuse()
	}
	if !a.decoded() || !a.known() {
		return a.refuse()
	}
	clean := a.nullWriteOnly(a.title, "while moving the object from another type")
	if !clean && !a.encodedAgain() || !a.identityDecoded() || !a.guarded() {
		return a.refuse()
	}
	return a.present(clean)
}

// opened checks the answer to OpenEphemeralResource. It first passes the lease to Terms.Held, because the lease must be
// closed even if the answer breaks a rule. A deferred or failed answer has a lease only if it has private data. opened
// registers the computed values as secrets. It returns false if the value must not be used.
func (a *admission) opened() bool {
	a.out.Unanswered = a.answer.unanswered
	opened := !a.answer.diags.HasErrors() && a.answer.deferred == ""
	if a.terms.Held != nil && (opened || a.answer.private != nil) {
		a.terms.Held(Lease{a.answer.private, a.answer.renewAt})
	}
	a.guard.learn(a.of, a.answer.state, a.terms.Config.Raw) // the provider's messages may contain the values
	if !a.succeeded() {
		return false
	}
	if !a.encoded() || !a.decoded() {
		return a.refuse()
	}
	if a.out.Value.IsNull() {
		a.of.breach(a.title, "%s opened %s and returned no object. This is a bug in the provider. Report it to its developers.", a.of.Who(), a.of.Object)
		return a.refuse()
	}
	if !a.known() || !a.argumentsKept() {
		return a.refuse()
	}
	return a.present(true)
}

// Passing returns the text of the retry policy r because of which a failed call may be repeated: the text that an error
// in the answer contains. It returns "" if no text matches. It also returns "" if the call opened an ephemeral
// resource, which may still be open, or if the provider did not answer: such calls are not repeated.
func (a *Answer) Passing(r *provider.Retry) string {
	if a.unanswered || a.of == opened && a.private != nil {
		return ""
	}
	return r.Matched(a.diags)
}
