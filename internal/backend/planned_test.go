package backend

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
)

const httpWithPassword = "backend \"http\" {\n  address = \"http://127.0.0.1:1/\"\n  password = \"canary-17\"\n}"

// plan makes the backend of the plan of some settings the backend in use.
func (b *bench) plan(s settings) *Planned {
	b.Helper()
	var p Planned
	text := s.forPlan()
	if err := json.Unmarshal(text, &p); err != nil {
		b.Fatal(err)
	}
	b.UsePlan(&p, func() *config.Module { return nil })
	return &p
}

func TestPlanWithholdsSecrets(t *testing.T) {
	b := newBench(t)
	p := b.plan(b.declare(httpWithPassword))
	if !slices.Equal(p.Withheld, []string{"password"}) || string(p.Config) != `{"address":"http://127.0.0.1:1/"}` {
		t.Errorf("%+v", p)
	}
}

func TestWithheldSettingsComeFromTheSameBlock(t *testing.T) {
	b := newBench(t)
	s := b.declare(httpWithPassword)
	b.plan(s)
	if got, ok := b.Directory.plan.settings(ctx); !ok || !got.same(s) || len(b.Lacking()) > 0 {
		t.Errorf("%+v lacks %q: %v", got, b.Lacking(), b.Env.Bag.List())
	}
	b.configure("backend \"http\" {\n  address = \"http://127.0.0.1:2/\"\n  password = \"canary-18\"\n}")
	if got, ok := b.Directory.plan.settings(ctx); !ok || !got.config.GetAttr("password").IsNull() || !slices.Equal(b.Lacking(), []string{"password"}) {
		t.Errorf("another place: lacks %q", b.Lacking())
	}
}

func TestPlanFollowsItsStateToTheRecordedPlace(t *testing.T) {
	b := newBench(t)
	p := b.plan(b.declare(`backend "local" { path = "one/s" }`))
	p.Lineage = "l"
	two := b.declare(`backend "local" { path = "two/s" }`)
	b.recorded(two, false)
	if got, ok := b.Directory.plan.settings(ctx); !ok || got.same(two) {
		t.Error("the recorded place has no state, and is used")
	}
	b.write("two/s", laterState)
	if got, ok := b.Directory.plan.settings(ctx); !ok || !got.same(two) {
		t.Errorf("%+v", got)
	}
}
