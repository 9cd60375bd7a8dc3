package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
)

// TestPlanDocuments decodes the golden plans of package view: every kind of change is in one.
func TestPlanDocuments(t *testing.T) {
	files, err := filepath.Glob("../../internal/view/testdata/plans/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p tfjson.Plan
		p.UseJSONNumber(true)
		if err := p.UnmarshalJSON(data); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if p.Complete == nil || p.Timestamp == "" || p.TerraformVersion == "" {
			t.Errorf("%s: members are missing", file)
		}
		for _, c := range p.ResourceChanges {
			checkActions(t, file, c)
		}
	}
}

// checkActions holds a change's actions against what the library makes of them.
func checkActions(t *testing.T, file string, c *tfjson.ResourceChange) {
	a := c.Change.Actions
	known := a.NoOp() || a.Create() || a.Read() || a.Update() || a.Delete() || a.Replace() || a.Forget()
	if !known && !(len(a) == 2 && string(a[0]) == "forget") {
		t.Errorf("%s: %s: unknown actions %v", file, c.Address, a)
	}
	if a.Delete() && c.Change.After != nil || a.Create() && c.Change.Before != nil && c.Change.Importing == nil {
		t.Errorf("%s: %s: %v from %v to %v", file, c.Address, a, c.Change.Before, c.Change.After)
	}
}

// TestValidateDocument decodes the golden diagnostics.
func TestValidateDocument(t *testing.T) {
	data, err := os.ReadFile("../../internal/view/testdata/diagnostics/validate.json")
	if err != nil {
		t.Fatal(err)
	}
	var v tfjson.ValidateOutput
	if err := v.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if v.Valid || v.ErrorCount == 0 || len(v.Diagnostics) != v.ErrorCount+v.WarningCount {
		t.Errorf("%+v", v)
	}
	for _, d := range v.Diagnostics {
		if s := d.Snippet; s != nil && (s.HighlightEndOffset > len(s.Code) || s.HighlightStartOffset > s.HighlightEndOffset) {
			t.Errorf("%+v", s)
		}
	}
}

// checkStream decodes every line of a JSON stream.
func checkStream(t *testing.T, stream []byte) map[string]int {
	t.Helper()
	types := map[string]int{}
	for i, l := range bytes.Split(bytes.TrimSpace(stream), []byte("\n")) {
		msg, err := tfjson.UnmarshalLogMessage(l)
		if err != nil {
			t.Fatalf("line %d: %v: %s", i, err, l)
		}
		if msg.Message() == "" || msg.Timestamp().IsZero() || msg.Level() == "" {
			t.Errorf("line %d: %s", i, l)
		}
		var m struct{ Type string }
		if err := json.Unmarshal(l, &m); err != nil {
			t.Fatal(err)
		}
		if v, ok := msg.(tfjson.VersionLogMessage); i == 0 && (!ok || v.Terraform == nil || v.UI == nil || !strings.HasPrefix(v.UI.String(), "1.2")) {
			t.Errorf("the first line is %s", l)
		}
		types[m.Type]++
	}
	return types
}
