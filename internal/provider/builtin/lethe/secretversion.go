package lethe

import (
	"context"
	"math"
	"strconv"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// secretVersion returns the resource lethe_secret_version. Its version increases when the value differs from the value
// of the last apply. The private data has a digest of the last value.
//
// Terraform and Lethe call Plan again during apply, with the stored private data. Terraform does not pass the private
// data of the approved plan to this call, so the answer can depend only on the stored digest and the value. Lethe
// passes these data (PlanCall.Approved). So the answer agrees with the approved plan even if the value has changed back
// after the plan.
func (p *Provider) secretVersion() *builtin.Resource {
	return &builtin.Resource{
		Schema: describe("A number that increases when a secret changes. The secret is in no state and in no plan.",
			&schema.Attr{Name: "value_wo", Type: cty.String, Required: true, WriteOnly: true, Description: "The secret. The state has only a salted digest of it."},
			computed("version", cty.Number, "The version of the secret: 1 at first, increased by 1 when an apply has another value than the last apply."),
			computed("key_revision", cty.Number, "The number of the key of the digest: increased by 1 when the digest is made again with another version_key."),
		),
		Validate: func(config cty.Value) provider.Diags { return checkValue(config.GetAttr("value_wo")) },
		Plan:     p.planSecretVersion,
		Apply:    p.applySecretVersion,
		Import:   importSecretVersion,
	}
}

func checkValue(v cty.Value) provider.Diags {
	if v.IsNull() {
		return fails(refused("value_wo", "Missing secret value", "value_wo is null, so there is no secret to number. Give it a value, or remove the resource with count or for_each."))
	}
	return nil
}

// secretState has the stored numbers of an object: its version, and the revision of its key.
type secretState struct{ version, keyRevision int64 }

// stateOf returns the numbers of an object. A number is 0 if the object is null, or if the number is null or unknown.
func stateOf(object cty.Value) secretState {
	number := func(name string) int64 {
		if object.IsNull() {
			return 0
		}
		v, ok := schema.Argument(object, name)
		if !ok {
			return 0
		}
		n, _ := v.AsBigFloat().Int64()
		return n
	}
	return secretState{number("version"), number("key_revision")}
}

// lastVersion is the maximum version, because many receivers store versions in 32 bits.
const lastVersion = math.MaxInt32

// object returns an object that has these numbers.
func (s secretState) object() cty.Value {
	return secretObject(cty.NumberIntVal(s.version), cty.NumberIntVal(s.keyRevision))
}

func secretObject(version, keyRevision cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"value_wo": cty.NullVal(cty.String), "version": version, "key_revision": keyRevision})
}

func (p *Provider) planSecretVersion(c builtin.PlanCall) (builtin.Planned, provider.Diags) {
	stored, err := readRecord(c.Private)
	if err != nil {
		return builtin.Planned{}, fails(unreadableRecord(err))
	}
	if c.Prior.IsNull() && stored.exists() {
		return builtin.Planned{}, fails(diag.Errorf("Secret version cannot be replaced", "A replaced lethe_secret_version would begin at version 1 again, and the receivers of version %d might miss a new secret. Remove -replace, or replace_triggered_by. To send a secret again, replace the resource that receives it.", stored.Version))
	}
	value := c.Config.GetAttr("value_wo")
	if ds := checkValue(value); ds.HasErrors() {
		return builtin.Planned{}, ds
	}
	key, out := p.keys.fitting(stored.digest)
	if out == keyWrong {
		return builtin.Planned{}, fails(p.keys.wrong())
	}
	if out == keyUnknown || !value.IsKnown() {
		return p.undecided(c, stored), nil
	}
	is, next, ds := p.decide(c, stored, value.AsString(), key)
	if ds.HasErrors() {
		return builtin.Planned{}, ds
	}
	next.Plan = &planning{Run: p.o.run, Was: c.Private}
	if len(c.Approved) > 0 {
		next.Plan.Run = "" // remove the ID of the planning process, because agree has compared the values of plan and apply
	}
	return builtin.Planned{Object: is.object(), Private: next.encode()}, ds
}

// undecided returns a plan in which the numbers are unknown until the apply.
func (p *Provider) undecided(c builtin.PlanCall, stored record) builtin.Planned {
	unknown := cty.UnknownVal(cty.Number).RefineNotNull()
	stored.Plan = &planning{Run: p.o.run, Undecided: true, Was: c.Private}
	return builtin.Planned{Object: secretObject(unknown, unknown), Private: stored.encode()}
}

// decide compares a value with the stored digest. It returns the planned numbers and the record of the value. key is
// the key with which the stored digest was made.
func (p *Provider) decide(c builtin.PlanCall, stored record, value, key string) (secretState, record, provider.Diags) {
	approved, err := readRecord(c.Approved)
	if err != nil {
		return secretState{}, record{}, fails(unreadableRecord(err))
	}
	is := stateOf(c.Prior)
	if !c.Prior.IsNull() && (is.version < 1 || is.version >= lastVersion) {
		return is, record{}, fails(diag.Errorf("Invalid secret version", "The stored version of this secret is not a whole number from 1 to %d. Remove the object from the state, and import it again with a valid version.", lastVersion-1))
	}
	if approved.isPlan() {
		return p.agree(is, approved, value)
	}
	var ds provider.Diags
	switch {
	case c.Prior.IsNull():
		is = secretState{1, 1}
	case !stored.exists():
		if is.keyRevision++; is.keyRevision > 1 { // an imported object has key revision 0, and gets the revision 1 without a new version
			ds = fails(diag.Warningf("Digest of a secret is missing", "The state has version %d of this secret, but no digest to compare it with. If the secret has changed since the last apply, Lethe cannot see it. The apply records the present value as version %[1]d.", is.version))
		}
	case !stored.of(value, key):
		is.version++
	case !stored.fits(p.keys.current.text):
		is.keyRevision++
	default:
		return is, record{Version: is.version, KeyRevision: is.keyRevision, digest: stored.digest}, nil
	}
	return is, p.recordOf(is, value), ds
}

// recordOf returns the record of a value with a new digest.
func (p *Provider) recordOf(is secretState, value string) record {
	return record{Version: is.version, KeyRevision: is.keyRevision, digest: newDigest(value, p.keys.current.text)}
}

// agree returns the numbers and the record for an apply of an approved plan. If the plan has a new version, the record
// has the digest of the value that is applied. Otherwise agree keeps the record of the plan. If the value differs from
// that record, the next plan has a new version.
func (p *Provider) agree(prior secretState, approved record, value string) (secretState, record, provider.Diags) {
	is := secretState{approved.Version, approved.KeyRevision}
	same := approved.fits(p.keys.current.text) && approved.of(value, p.keys.current.text)
	var ds provider.Diags
	if !same && approved.Plan.Run == p.o.run {
		ds = fails(changingSource())
	}
	if same || approved.Version == prior.version {
		return is, approved, ds
	}
	return is, p.recordOf(is, value), ds
}

// changingSource returns the warning about a source of the secret that has returned two values in one command.
func changingSource() diag.Diagnostic {
	return diag.Warningf("Secret differs between plan and apply", "value_wo had another value during the apply than during the plan of the same command. Its source probably returns a new value at each opening, like the generators lethe_random and random_password. Then every plan shows a new version.\n\nUse a source that returns the same value until the secret is rotated: an ephemeral resource that reads a secret manager, lethe_file, or an ephemeral variable. To send values of a generator, set the version argument of the receiver by hand, without lethe_secret_version.").In(cty.GetAttrPath("value_wo"))
}

func unreadableRecord(err error) diag.Diagnostic {
	return diag.Errorf("Invalid secret version", "The digest of this secret cannot be used: %s. Remove the object from the state, and import it again with its version.", err)
}

// applySecretVersion records the digest of the value. Engines that do not plan again during apply send the value of the
// apply only in this call.
func (p *Provider) applySecretVersion(_ context.Context, c builtin.ApplyCall) (builtin.Applied, provider.Diags) {
	if c.Planned.IsNull() {
		return builtin.Applied{Object: c.Planned}, nil
	}
	planned, err := readRecord(c.Private)
	if err != nil || planned.Plan == nil {
		return builtin.Applied{Object: c.Prior}, fails(unreadableRecord(errRecord))
	}
	failed := builtin.Applied{Object: c.Prior, Private: planned.Plan.Was}
	value := c.Config.GetAttr("value_wo")
	if ds := checkValue(value); ds.HasErrors() {
		return failed, ds
	}
	call := builtin.PlanCall{Prior: c.Prior, Config: c.Config, Private: planned.Plan.Was, Approved: c.Private}
	stored, err := readRecord(planned.Plan.Was)
	if err != nil {
		return failed, fails(unreadableRecord(err))
	}
	key, out := p.keys.fitting(stored.digest)
	if out != keyFits || !value.IsKnown() {
		return failed, fails(p.keys.wrong())
	}
	is, next, ds := p.decide(call, stored, value.AsString(), key)
	if ds.HasErrors() {
		return failed, ds
	}
	next.Plan = nil
	return builtin.Applied{Object: is.object(), Private: next.encode()}, ds
}

func importSecretVersion(_ context.Context, id string) (cty.Value, provider.Diags) {
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil || n < 1 || n == lastVersion {
		return cty.NilVal, fails(diag.Errorf("Invalid secret version", "The id of a lethe_secret_version is the version that its receivers have now: a whole number from 1 to %d. The first apply after the import records the digest of the secret under this version.", lastVersion-1))
	}
	return secretState{version: n}.object(), nil
}
