package lethe

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

const secretVersionType = "lethe_secret_version"

const key1, key2 = "first-" + canary + "-key", "second-" + canary + "-key"

// versioned is a lethe_secret_version with its stored data, called by an engine.
type versioned struct {
	*rig
	state   cty.Value
	private []byte
}

// planned is a plan of a versioned object.
type planned struct {
	object  cty.Value
	private []byte
	ds      provider.Diags
}

func newVersioned(t *testing.T, key, previous any) *versioned {
	r := newRig(t)
	v := &versioned{rig: r, state: r.schema(addr.Managed, secretVersionType).Null()}
	v.configure(key, previous)
	return v
}

// configure starts another session with keys: texts, nil, or unknown values.
func (v *versioned) configure(key, previous any) provider.Diags {
	v.t.Helper()
	given := map[string]any{}
	for name, k := range map[string]any{"version_key": key, "version_key_previous": previous} {
		if k != nil {
			given[name] = k
		}
	}
	config := v.encode(v.Config, v.config(v.Config, given))
	v.p = v.p.Session().(*Provider)
	if _, ds := v.p.ValidateConfig(v.t.Context(), config); ds.HasErrors() {
		return ds
	}
	return v.p.Configure(v.t.Context(), config, provider.Allow{})
}

// plan plans a value. approved is the private data of the approved plan if an apply plans again.
func (v *versioned) plan(value any, approved []byte) planned {
	v.t.Helper()
	s := v.schema(addr.Managed, secretVersionType)
	config := v.config(s, map[string]any{"value_wo": value})
	resp, ds := v.p.Plan(v.t.Context(), provider.PlanRequest{
		Type: secretVersionType, Prior: v.encode(s, v.state), Config: v.encode(s, config), Proposed: v.encode(s, s.Propose(v.state, config)),
		Private: v.private, Approved: approved,
	})
	v.clean(ds, resp.Planned.Msgpack, resp.Private)
	if ds.HasErrors() {
		return planned{ds: ds}
	}
	p := planned{v.decode(s, resp.Planned), resp.Private, ds}
	if breaches := s.PlanBreaches(v.state, s.NullWriteOnly(config), p.object); len(breaches) > 0 {
		v.t.Errorf("the plan contradicts the configuration: %v", breaches)
	}
	return p
}

// apply applies a plan with a value, without planning again. It stores the answer.
func (v *versioned) apply(p planned, value any) provider.Diags {
	v.t.Helper()
	s := v.schema(addr.Managed, secretVersionType)
	config := v.config(s, map[string]any{"value_wo": value})
	resp, ds := v.p.Apply(v.t.Context(), provider.ApplyRequest{
		Type: secretVersionType, Prior: v.encode(s, v.state), Planned: v.encode(s, p.object), Config: v.encode(s, config), Private: p.private,
	})
	v.clean(ds, resp.State.Msgpack, resp.Private)
	made := v.decode(s, resp.State)
	if breaches := s.ApplyBreaches(p.object, made); len(breaches) > 0 && !ds.HasErrors() {
		v.t.Errorf("the object is not what was planned: %v", breaches)
	}
	if bytes.Contains(resp.Private, []byte(`"plan"`)) {
		v.t.Errorf("the stored private data has a member of a plan: %s", resp.Private)
	}
	v.state, v.private = made, resp.Private
	return ds
}

// bring plans and applies a value as Lethe does, or as Terraform does, which plans again without the approved plan.
func (v *versioned) bring(atPlan, atApply any, lethe bool) provider.Diags {
	v.t.Helper()
	first := v.plan(atPlan, nil)
	if first.ds.HasErrors() || first.object.RawEquals(v.state) {
		return first.ds
	}
	approved := first.private
	if !lethe {
		approved = nil
	}
	again := v.plan(atApply, approved)
	if again.ds.HasErrors() {
		return again.ds
	}
	s := v.schema(addr.Managed, secretVersionType)
	if breaches := s.ApplyBreaches(first.object, again.object); len(breaches) > 0 {
		return provider.Diags{diag.Errorf("Provider produced inconsistent final plan", "%v", breaches)}
	}
	return append(append(first.ds, again.ds...), v.apply(again, atApply)...)
}

func (v *versioned) clean(ds provider.Diags, parts ...[]byte) {
	v.t.Helper()
	for _, p := range parts {
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:15]} {
			if bytes.Contains(p, []byte(form)) {
				v.t.Errorf("an answer has a secret: %s", p)
			}
		}
	}
	for _, d := range ds {
		if strings.Contains(d.Summary+d.Detail, canary) {
			v.t.Errorf("a diagnostic has a secret: %s: %s", d.Summary, d.Detail)
		}
	}
}

// is checks the stored numbers.
func (v *versioned) is(version, keyRevision int64) {
	v.t.Helper()
	if got := stateOf(v.state); got != (secretState{version, keyRevision}) {
		v.t.Errorf("the object has version %d and key revision %d, want %d and %d", got.version, got.keyRevision, version, keyRevision)
	}
}

// says checks that there is exactly one diagnostic, with the given title. If the title is "", it checks that there is
// no diagnostic.
func (v *versioned) says(ds provider.Diags, title string) {
	v.t.Helper()
	if title == "" && len(ds) == 0 || len(ds) == 1 && ds[0].Summary == title {
		return
	}
	v.t.Errorf("got %v, want %q", ds, title)
}

func hidden(s string) string { return canary + s }

func TestVersionRisesWithEachNewValue(t *testing.T) {
	for name, key := range map[string]any{"with a key": key1, "without a key": nil} {
		t.Run(name, func(t *testing.T) {
			for _, lethe := range []bool{true, false} {
				v := newVersioned(t, key, nil)
				for i, step := range []struct {
					value string
					want  int64
				}{{"a", 1}, {"a", 1}, {"b", 2}, {"b", 2}, {"a", 3}, {"", 4}, {"", 4}} {
					v.says(v.bring(hidden(step.value), hidden(step.value), lethe), "")
					if v.is(step.want, 1); t.Failed() {
						t.Fatalf("step %d", i)
					}
				}
				empty := newVersioned(t, key, nil)
				empty.says(empty.bring("", "", lethe), "")
				empty.is(1, 1)
			}
		})
	}
}

func TestUnchangedValueIsNoChange(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	if p := v.plan(hidden("a"), nil); !p.object.RawEquals(v.state) {
		t.Errorf("planned %#v", p.object)
	}
}

func TestEqualSecretsHaveDifferentDigests(t *testing.T) {
	for _, key := range []any{key1, nil} {
		a, b := newVersioned(t, key, nil), newVersioned(t, key, nil)
		a.bring(hidden("a"), hidden("a"), true)
		b.bring(hidden("a"), hidden("a"), true)
		x, _ := readRecord(a.private)
		y, _ := readRecord(b.private)
		if bytes.Equal(x.Salt, y.Salt) || bytes.Equal(x.Sum, y.Sum) || key != nil && bytes.Equal(x.Check, y.Check) {
			t.Errorf("equal parts: %s and %s", a.private, b.private)
		}
		a.bring(hidden("b"), hidden("b"), true)
		a.bring(hidden("a"), hidden("a"), true)
		if z, _ := readRecord(a.private); bytes.Equal(x.Sum, z.Sum) {
			t.Error("the digest shows that an earlier value has returned")
		}
	}
}

// TestWorkOfDigests computes one digest at its real cost. The result is a fixed text, because states have such digests.
// The name of the method includes the cost.
func TestWorkOfDigests(t *testing.T) {
	if w := productWork; fmt.Sprintf("argon2id-%dm-%d-%d", w.memory>>10, w.passes, w.lanes) != unkeyed {
		t.Errorf("the method %s has the cost %+v", unkeyed, w)
	}
	const want = "daa92f68bd420420c2d2fddb65e14b933a668893122e9e40271a1d2708f5477f"
	if got := hex.EncodeToString(productWork.sum("value", []byte("a salt of 16 B.."))); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}

// TestNewerValueAtApplyIsRecorded applies a saved plan in another process. The secret has been rotated since the plan,
// so there is no warning.
func TestNewerValueAtApplyIsRecorded(t *testing.T) {
	for name, lethe := range map[string]bool{"Lethe": true, "Terraform": false} {
		t.Run(name, func(t *testing.T) {
			planner, applier := newVersioned(t, key1, nil), newVersioned(t, key1, nil)
			planner.bring(hidden("a"), hidden("a"), lethe)
			applier.state, applier.private = planner.state, planner.private
			approved := planner.plan(hidden("b"), nil).private
			if !lethe {
				approved = nil
			}
			again := applier.plan(hidden("c"), approved)
			applier.says(again.ds, "")
			applier.says(applier.apply(again, hidden("c")), "")
			applier.is(2, 1)
			if p := applier.plan(hidden("c"), nil); !p.object.RawEquals(applier.state) {
				t.Error("the newer value was not recorded")
			}
		})
	}
}

func TestEngineThatDoesNotPlanAgain(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.says(v.apply(v.plan(hidden("b"), nil), hidden("c")), "Secret differs between plan and apply")
	v.is(2, 1)
	if p := v.plan(hidden("c"), nil); !p.object.RawEquals(v.state) {
		t.Error("the newer value was not recorded")
	}
	v.says(v.apply(v.plan(cty.UnknownVal(cty.String), nil), hidden("d")), "")
	v.is(3, 1)
}

// TestReturnedValueKeepsTheApprovedVersion changes the value back to the value of the last apply, between plan and
// apply. Lethe applies the approved version. Terraform refuses the apply: it does not pass the approved plan to the
// provider, so its second plan has no change.
func TestReturnedValueKeepsTheApprovedVersion(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.says(v.bring(hidden("b"), hidden("a"), true), "Secret differs between plan and apply")
	v.is(2, 1)
	if p := v.plan(hidden("a"), nil); !p.object.RawEquals(v.state) {
		t.Error("the value of the apply was not recorded")
	}
	v.says(v.bring(hidden("b"), hidden("a"), false), "Provider produced inconsistent final plan")
	v.is(2, 1)
}

func TestGeneratorIsWarnedAbout(t *testing.T) {
	for _, key := range []any{key1, nil} {
		v := newVersioned(t, key, nil)
		v.says(v.bring(hidden("1"), hidden("2"), true), "Secret differs between plan and apply")
		v.is(1, 1)
		v.says(v.bring(hidden("3"), hidden("4"), true), "Secret differs between plan and apply")
		v.is(2, 1)
	}
}

func TestOnlyTheDigestChangesIfNoVersionWasPlanned(t *testing.T) {
	v := newVersioned(t, nil, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.configure(key1, nil)
	v.says(v.bring(hidden("a"), hidden("b"), true), "Secret differs between plan and apply")
	v.is(1, 2)
	v.says(v.bring(hidden("b"), hidden("b"), true), "")
	v.is(2, 2)
}

func TestKeyChangesWithoutNewVersion(t *testing.T) {
	v := newVersioned(t, nil, nil)
	v.bring(hidden("a"), hidden("a"), true)
	for i, c := range []struct {
		key, previous any
		wantRevision  int64
	}{{key1, nil, 2}, {key2, key1, 3}, {key2, key1, 3}, {key2, nil, 3}, {nil, key2, 4}, {nil, nil, 4}} {
		v.configure(c.key, c.previous)
		v.says(v.bring(hidden("a"), hidden("a"), true), "")
		if v.is(1, c.wantRevision); t.Failed() {
			t.Fatalf("step %d", i)
		}
	}
	v.configure(key1, nil)
	v.says(v.bring(hidden("b"), hidden("b"), true), "")
	v.is(2, 4) // a new value is digested with the new key, so the number of the key does not change again
	v.configure(key1, nil)
	v.says(v.bring(hidden("b"), hidden("b"), true), "")
	v.is(2, 4)
}

func TestWrongKeyIsRefused(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	approved := v.plan(hidden("b"), nil)
	for _, c := range []struct {
		key, previous any
		title         string
	}{{key2, nil, "Wrong version key"}, {nil, nil, "Missing version key"}, {key2, hidden("another key"), "Wrong version key"}, {nil, key2, "Missing version key"}} {
		v.configure(c.key, c.previous)
		v.says(v.plan(hidden("a"), nil).ds, c.title)
		v.says(v.plan(cty.UnknownVal(cty.String), nil).ds, c.title)
		state, private := v.state, v.private
		v.says(v.apply(approved, hidden("b")), c.title)
		if !v.state.RawEquals(state) || !bytes.Equal(v.private, private) {
			t.Errorf("the failed apply stored %#v with %s", v.state, v.private)
		}
	}
}

func TestInvalidKeysAreRefused(t *testing.T) {
	v := newVersioned(t, nil, nil)
	v.says(v.configure("short", nil), "Invalid version key")
	v.says(v.configure(key1, ""), "Invalid version key")
	v.rig = newRig(t, "LETHE_VERSION_KEY=short")
	v.says(v.configure(nil, nil), "Invalid version key")
	v.says(v.configure(key1, nil), "")
}

func TestKeyOfTheEnvironment(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.rig = newRig(t, "LETHE_VERSION_KEY="+key1)
	v.configure(nil, nil)
	if p := v.plan(hidden("a"), nil); !p.object.RawEquals(v.state) {
		t.Errorf("planned %#v, %v", p.object, p.ds)
	}
	v.configure(cty.UnknownVal(cty.String), nil)
	if p := v.plan(hidden("a"), nil); p.object.GetAttr("version").IsKnown() {
		t.Error("the environment replaces an unknown key")
	}
}

func TestUnknownPartsMakeTheVersionUnknown(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	for _, lethe := range []bool{true, false} {
		v := newVersioned(t, key1, nil)
		for _, want := range []int64{1, 1} {
			v.says(v.bring(unknown, hidden("a"), lethe), "")
			v.is(want, 1)
		}
		v.says(v.bring(unknown, hidden("b"), lethe), "")
		v.is(2, 1)
		for _, keys := range [][2]any{{unknown, nil}, {key2, unknown}} {
			v.configure(keys[0], keys[1])
			if p := v.plan(hidden("b"), nil); p.object.GetAttr("version").IsKnown() || p.object.GetAttr("key_revision").IsKnown() {
				t.Errorf("with unknown keys: planned %#v", p.object)
			}
		}
	}
}

func TestNullValueIsRefused(t *testing.T) {
	v := newVersioned(t, key1, nil)
	null := cty.NullVal(cty.String)
	v.says(v.plan(null, nil).ds, "Missing secret value")
	p := v.plan(cty.UnknownVal(cty.String), nil)
	v.says(v.apply(p, null), "Missing secret value")
}

func TestReplacementIsRefused(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	for _, value := range []any{hidden("b"), cty.UnknownVal(cty.String)} {
		first := v.plan(value, nil)
		again := &versioned{rig: v.rig, state: v.schema(addr.Managed, secretVersionType).Null(), private: first.private}
		v.says(again.plan(value, nil).ds, "Secret version cannot be replaced")
	}
}

func TestImportedVersionIsKept(t *testing.T) {
	v := newVersioned(t, key1, nil)
	found, ds := v.p.Import(t.Context(), provider.ImportRequest{Type: secretVersionType, ID: "7"})
	v.says(ds, "")
	v.state = v.decode(v.schema(addr.Managed, secretVersionType), found.Objects[0].State)
	v.is(7, 0)
	v.says(v.bring(hidden("a"), hidden("a"), true), "")
	v.is(7, 1)
	v.says(v.bring(hidden("b"), hidden("b"), true), "")
	v.is(8, 1)
	for _, id := range []string{"", "0", "-1", "1.5", "x", "2147483647", "99999999999999999999"} {
		_, ds := v.p.Import(t.Context(), provider.ImportRequest{Type: secretVersionType, ID: id})
		v.says(ds, "Invalid secret version")
	}
}

func TestLostDigestIsReported(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.private = nil
	v.says(v.bring(hidden("b"), hidden("b"), true), "Digest of a secret is missing")
	v.is(1, 2)
}

func TestDamagedDataIsRefused(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	whole := v.private
	for _, bad := range []string{"x", "[]", `{"method":"md5","salt":"AAAA","digest":"AAAA"}`, string(whole[:len(whole)-9]), `{"method":"hmac-sha256"}`} {
		v.private = []byte(bad)
		v.says(v.plan(hidden("a"), nil).ds, "Invalid secret version")
		v.private = whole
		v.says(v.plan(hidden("b"), []byte(bad)).ds, "Invalid secret version")
	}
	p := v.plan(hidden("b"), nil)
	v.says(v.apply(planned{object: p.object}, hidden("b")), "Invalid secret version")
	for _, version := range []int64{0, lastVersion} {
		v.state, v.private = secretState{version, 1}.object(), whole
		v.says(v.plan(hidden("b"), nil).ds, "Invalid secret version")
	}
}

func TestDestroyNeedsNoKey(t *testing.T) {
	v := newVersioned(t, key1, nil)
	v.bring(hidden("a"), hidden("a"), true)
	v.configure(key2, nil)
	s := v.schema(addr.Managed, secretVersionType)
	null := v.encode(s, s.Null())
	resp, ds := v.p.Plan(t.Context(), provider.PlanRequest{Type: secretVersionType, Prior: v.encode(s, v.state), Proposed: null, Config: null, Private: v.private})
	v.says(ds, "")
	gone, ds := v.p.Apply(t.Context(), provider.ApplyRequest{Type: secretVersionType, Prior: v.encode(s, v.state), Planned: null, Config: null, Private: resp.Private})
	v.says(ds, "")
	if !v.decode(s, gone.State).IsNull() || gone.Private != nil {
		t.Errorf("the destroyed object is %v with %s", gone.State, gone.Private)
	}
}

func TestSessionsHaveSeparateKeys(t *testing.T) {
	v := newVersioned(t, key1, nil)
	other := v.p.Session().(*Provider)
	if other.keys != (versionKeys{}) || other.o.run != v.p.o.run {
		t.Errorf("another session has the keys %v", other.keys)
	}
}
