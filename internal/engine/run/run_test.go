package run

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

const tested = `
variable "a" {
  default = 1
  validation {
    condition     = var.a > 0
    error_message = "no"
  }
}
resource "t_item" "r" {
  lifecycle {
    precondition {
      condition     = var.a > 0
      error_message = "no"
    }
    postcondition {
      condition     = self.a > 0
      error_message = "no"
    }
  }
}
check "c" {
  data "t_item" "d" {}
  assert {
    condition     = var.a > 0
    error_message = "no"
  }
}
`

// shown formats check results in one line.
func shown(checks []state.Check) string {
	var out []string
	for _, c := range checks {
		text := fmt.Sprintf("%s %s", c.Addr, c.Status)
		for _, o := range c.Objects {
			text += fmt.Sprintf(" (%s %s %q)", o.Addr, o.Status, o.Failures)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// If the conditions of an object have several results, the worst result counts. An expected object without a result is
// unknown.
func TestChecks(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": tested})
	d := enginetest.Declaration(t, p, "t_item.r")
	result := func(s state.Status, text string) []frame.Result { return []frame.Result{{Status: s, Message: text}} }
	for name, c := range map[string]struct {
		do   func(c *Conditions)
		want string
	}{
		"expected, not evaluated":  {func(c *Conditions) { c.Expect(d, "t_item.r") }, `t_item.r unknown (t_item.r unknown [])`},
		"one of two evaluated":     {func(c *Conditions) { c.Expect(d, "t_item.r"); c.Checks.report(d, "t_item.r", result(state.Pass, "")) }, `t_item.r unknown (t_item.r unknown [])`},
		"expected without objects": {func(c *Conditions) { c.Expect(d) }, `t_item.r pass`},
		"two results, one of a kind": {func(c *Conditions) {
			c.Checks.report(d, "t_item.r", append(result(state.Pass, ""), result(state.Fail, "it is canary-of-the-run")...))
		}, `t_item.r fail (t_item.r fail ["it is (ephemeral value)"])`},
		"an object that has no name": {func(c *Conditions) { c.Checks.report(d, "", result(state.Fail, "hidden")) }, `t_item.r fail`},
		"an error outweighs the rest": {func(c *Conditions) {
			c.Checks.report(d, "t_item.r", append(result(state.Fail, "x"), result(state.Errored, "")...))
		}, `t_item.r error (t_item.r error ["x"])`},
		"nothing reported": {func(c *Conditions) { c.Checks.report(d, "t_item.r", nil) }, ``},
	} {
		secrets := &secret.Set{}
		secrets.Add("canary-of-the-run", secret.Origin{Kind: secret.EphemeralVariable})
		r := &Conditions{program: p, Checks: newChecks(secrets)}
		c.do(r)
		if got := shown(r.Checks.Results(nil)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := r.Checks.Hold("t_item.r"); got != (c.want == "" || c.want == "t_item.r pass") {
			t.Errorf("%s: hold %v", name, got)
		}
	}
}

// Earlier check results are kept for declarations without results in this walk (plan or apply). For other declarations,
// the earlier results of objects without new results are kept.
func TestEarlierChecks(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": tested})
	c := newChecks(&secret.Set{})
	c.report(enginetest.Declaration(t, p, "t_item.r"), "t_item.r", []frame.Result{{Status: state.Pass}})
	earlier := []state.Check{
		{Addr: "t_item.r", Status: state.Fail, Objects: []state.CheckedObject{{Addr: "t_item.r", Status: state.Fail}, {Addr: "t_item.r[1]", Status: state.Pass}}},
		{Addr: "check.gone", Status: state.Fail},
	}
	if got, want := shown(c.Results(earlier)), `check.gone fail; t_item.r pass (t_item.r pass []) (t_item.r[1] pass [])`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The check results at the end of a walk list all declarations with conditions. Declarations that the walk did not
// reach are unknown. A check block whose data source could not be read fails with the diagnostics of the read.
func TestAllResults(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": tested})
	r := &Conditions{program: p, Checks: newChecks(&secret.Set{})}
	r.Unevaluated(enginetest.Declaration(t, p, "data.t_item.d"), addr.ModuleInstance{}, []diag.Diagnostic{diag.Errorf("Not read", "for a reason"), diag.Warningf("By the way", "x")})
	if got, want := shown(r.All(true)), `check.c fail (check.c fail ["Not read: for a reason"]); t_item.r unknown; var.a unknown`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A provider's function has one result for the same arguments in a walk, which must equal the result in the plan. Calls
// with ephemeral or unknown arguments are not recorded, not even as digests.
func TestObservedResults(t *testing.T) {
	one, two := cty.StringVal("one"), cty.StringVal("two")
	secret := mark.With(cty.StringVal("canary"), mark.Ephemeral, nil)
	call, _ := digest("file", one)
	planned, _ := digest("", one)
	for name, c := range map[string]struct {
		function string
		arg      cty.Value
		results  []cty.Value
		want     string
		digests  int
	}{
		"the same again":         {"file", two, []cty.Value{one, one}, "", 1},
		"another one":            {"file", two, []cty.Value{one, two}, "a file that it reads changed", 1},
		"as planned":             {"file", one, []cty.Value{one}, "", 1},
		"not as planned":         {"file", one, []cty.Value{two}, "differs from the plan", 1},
		"a provider's changes":   {"provider::t::f", two, []cty.Value{one, two}, "different results", 1},
		"of something ephemeral": {"file", secret, []cty.Value{one, two}, "", 0},
		"something ephemeral":    {"file", two, []cty.Value{secret, one}, "", 1},
		"not known":              {"file", cty.UnknownVal(cty.String), []cty.Value{one, two}, "", 0},
	} {
		r := &Results{planned: map[string]string{call: planned}, seen: map[string]string{}}
		var err error
		for _, v := range c.results {
			err = r.observe(c.function, []cty.Value{c.arg}, v)
		}
		if fmt.Sprint(err) == "<nil>" != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if n := len(r.Digests()); n != c.digests {
			t.Errorf("%s: %d digests", name, n)
		}
	}
}

// A provider process that remains from the last walk is used again at most once, for the same configuration and
// settings, and not after keepTime.
func TestIdleSessions(t *testing.T) {
	now := time.Now()
	i, other := addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("t")}}, addr.ProviderInstance{}
	p := &providertest.Fake{}
	for name, c := range map[string]struct {
		of       addr.ProviderInstance
		settings cty.Value
		after    time.Duration
		want     bool
	}{
		"the same": {i, cty.True, time.Minute, true}, "other settings": {i, cty.False, 0, false},
		"another configuration": {other, cty.True, 0, false}, "too late": {i, cty.True, keepTime, false},
	} {
		var k idleSessions
		k.leave([]idleSession{{instance: i, settings: cty.True, process: p, since: now}}, false)
		if got := k.claim(c.of, c.settings, now.Add(c.after)); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if again := k.claim(i, cty.True, now); (again != nil) == c.want {
			t.Errorf("%s: claimed again: %v", name, again)
		}
		if left := k.leave(nil, false); len(left) > 0 {
			t.Errorf("%s: %d are left", name, len(left))
		}
	}
}

// A provider configuration has separate sessions for prior and planned settings (two faces) only if its settings depend
// on managed resources.
func TestSessionKeys(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": `
provider "t" { a = 1 }
provider "u" { a = t_item.x.id }
resource "t_item" "x" {}
resource "u_item" "y" {}
`})
	ss := &Sessions{receivers: receivers.Analyse(p, nil)}
	for name, want := range map[string]bool{"t_item.x": true, "u_item.y": false} {
		u := declared.UseOf(p, enginetest.Declaration(t, p, name), addr.NoKey)
		if one := ss.key(u, frame.Before) == ss.key(u, frame.After); one != want {
			t.Errorf("%s: one session %v", name, one)
		}
		u.Declared = false
		if k := ss.key(u, frame.Before); k.face != frame.After {
			t.Errorf("%s, where nothing declares it: %+v", name, k)
		}
	}
}

// A session that a job holds (Sessions.Hold) ends only after its last hold, even if Release was called before.
func TestHeldSessionStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.Program(t, map[string]string{"main.tf": "resource \"t_item\" \"x\" {}"})
		ss := &Sessions{settings: &Settings{}, receivers: receivers.Analyse(p, nil), open: map[sessionKey]*Session{}, holds: map[sessionKey]int{}}
		ss.freed.L = &ss.mu
		u := declared.UseOf(p, enginetest.Declaration(t, p, "t_item.x"), addr.NoKey)
		ended := false
		ss.open[ss.key(u, frame.Before)] = &Session{settled: true, well: true, opened: true, ok: true, Provider: &providertest.Fake{}, end: func() { ended = true }}
		s, done, ok := ss.Hold(t.Context(), &diag.Bag{}, u, frame.Before)
		go ss.Release(u, frame.Before)
		synctest.Wait()
		if !ok || s.Provider == nil || ended {
			t.Errorf("ok %v, ended %v", ok, ended)
		}
		done()
		synctest.Wait()
		if !ended {
			t.Error("the session has not ended")
		}
	})
}

// Without a configuration and a state, the registry host of a provider is the host of the process that the user
// attached, or else the default host. A host that is not a registry of Terraform or OpenTofu stays.
func TestHosts(t *testing.T) {
	p, own := addr.Default("t"), addr.Provider{Host: "example.com", Namespace: "a", Type: "t"}
	other := p
	other.Host = "registry.terraform.io"
	named := func(addr.Provider) (addr.Provider, bool) { return other, true }
	for name, c := range map[string]struct {
		set  Settings
		of   addr.Provider
		want string
	}{
		"nothing says one":     {Settings{}, p, p.Host},
		"the program's name":   {Settings{HostNames: HostNames{Default: "registry.terraform.io"}}, p, "registry.terraform.io"},
		"attached":             {Settings{HostNames: HostNames{Default: "x.example", Attached: named}}, p, "registry.terraform.io"},
		"of no known registry": {Settings{HostNames: HostNames{Default: "registry.terraform.io"}}, own, "example.com"},
	} {
		if got := HostsFor(&c.set, nil, nil).Of(c.of); got.Host != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
