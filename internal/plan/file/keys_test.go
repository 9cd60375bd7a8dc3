package file

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/plan"
)

// keysOf returns the keys of the next JSON object that d reads, in their order.
func keysOf(t *testing.T, d *json.Decoder) (keys []string) {
	t.Helper()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("no object begins here: %v, %v", open, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestKeysKeepTheirOrder: the plan file has the keys of a plan and of a change in a fixed order. Grouping fields in Go
// changes neither the keys nor their order.
func TestKeysKeepTheirOrder(t *testing.T) {
	var body bytes.Buffer
	if _, err := encode(&body, full(t).Plan); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&body)
	ofPlan := strings.Fields(`mode checks ephemeral targets excludes functions keys keys_before no_before unstored spare_deposed
		part changed workspace backend settings place timestamp errored complete changes drift deferred outputs invocations later_invocations variables relevant
		readings`)
	if got := keysOf(t, d); !slices.Equal(got, ofPlan) {
		t.Errorf("the keys of a plan are\n%q, and should be\n%q", got, ofPlan)
	}
	keysOf(t, d) // skip the first change, an unchanged object
	ofChange := strings.Fields(`object was action why settled asked create_first first_for skip_destroy protected provider private legacy
		generated recorded conditions before after identity before_identity entry replace sent importing`)
	if got := keysOf(t, d); !slices.Equal(got, ofChange) {
		t.Errorf("the keys of a change are\n%q, and should be\n%q", got, ofChange)
	}
}

// TestAnUnknownKeyIsRefused: each key in a plan file belongs to a field, possibly of an embedded struct. A plan with
// another key comes from another version of the format.
func TestAnUnknownKeyIsRefused(t *testing.T) {
	for _, key := range []string{"request", "evaluation", "origin", "lifecycle", "provider_data"} {
		body := []byte(`{"mode":"normal","` + key + `":{}}`)
		if err := decode(body, nil, &plan.Plan{}); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
