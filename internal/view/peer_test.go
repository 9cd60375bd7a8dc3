package view

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diff"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is printed into the golden files")

// TestPlanLikePeer compares the text of each recorded plan with the output of Terraform, with the name replaced. If
// Lethe differs on purpose, the archive contains its text as lethe.plan.txt.
func TestPlanLikePeer(t *testing.T) {
	schemas := loadSchemas(t)
	for _, c := range loadCases(t) {
		if c.files["plan.json"] == "" || c.files["plan.txt"] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			p := loadPlan(t, c.files["plan.json"], schemas, c.mode())
			var b strings.Builder
			PlanText(&b, p, schemas.Of, Options{})
			checkPeer(t, c, "lethe.plan.txt", peerPlan(c.files["plan.txt"]), dangerList.ReplaceAllString(b.String(), ""))
		})
	}
}

// dangerList matches the list of destroyed and replaced objects above "Plan:", which Terraform does not have.
var dangerList = regexp.MustCompile(`(?m)^Destroyed or replaced: .*\.\n(?:(?:  -|-/\+|\+/-|\./\+) .*\n)+`)

func (c peerCase) mode() plan.Mode {
	for name, text := range c.files {
		if strings.HasSuffix(name, ".flags") && c.files[string(name[0]+1)+".tf"] == "" {
			switch {
			case strings.Contains(text, "-refresh-only"):
				return plan.RefreshOnly
			case strings.Contains(text, "-destroy"):
				return plan.Destroy
			}
		}
	}
	return plan.Normal
}

// checkPeer compares got with the file named ours of the recording, or with the text of Terraform if that file is
// missing.
func checkPeer(t *testing.T, c peerCase, ours, peer, got string) {
	t.Helper()
	if *update {
		path := filepath.Join("testdata/peer", c.name+".txtar")
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept []txtar.File
		for _, f := range a.Files {
			if f.Name != ours {
				kept = append(kept, f)
			}
		}
		a.Files = kept
		if got != peer {
			a.Files = append(a.Files, txtar.File{Name: ours, Data: []byte(got)})
		}
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, own := c.files[ours]
	if !own {
		want = peer
	} else if want == peer {
		t.Errorf("%s says the same as the peer", ours)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", lineDiff(want, got))
	}
}

// lineDiff compares two texts line by line with package diff, and returns the different lines.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for _, p := range diff.Align(append(textValues(w), &diff.Value{Kind: diff.UnknownValue}), textValues(g)) {
		switch {
		case p.Before >= len(w):
		case p.Before >= 0 && p.After >= 0:
			b.WriteString("  " + w[p.Before] + "\n")
		case p.Before >= 0:
			b.WriteString("- " + w[p.Before] + "\n")
		default:
			b.WriteString("+ " + g[p.After] + "\n")
		}
	}
	return b.String()
}

// peerPlan extracts the plan from the output of terraform plan, and replaces the name.
func peerPlan(s string) string {
	var lines []string
	for _, l := range strings.Split(s, "\n") {
		if !strings.Contains(l, ": Refreshing state...") && !strings.Contains(l, ": Preparing import...") && !strings.Contains(l, ": Read") && !strings.Contains(l, "ing...") && !strings.Contains(l, "complete after") {
			lines = append(lines, l)
		}
	}
	s = strings.Join(lines, "\n")
	for _, end := range []string{"\nWarning: ", "\nError: ", "\n" + strings.Repeat("─", 77) + "\n\nSaved the plan"} {
		if i := strings.Index(s, end); i >= 0 {
			s = s[:i]
		}
	}
	return ours(s)
}

// ours replaces the name of Terraform by the name of Lethe.
func ours(s string) string {
	return strings.NewReplacer("Terraform", "Lethe", "\"terraform ", "\"lethe ", "    terraform ", "    lethe ").Replace(s)
}

// TestStateLikePeer compares the text of each recorded state with the output of Terraform.
func TestStateLikePeer(t *testing.T) {
	schemas := loadSchemas(t)
	for _, c := range loadCases(t) {
		if c.files["terraform.tfstate"] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := c.state(t)
			var b strings.Builder
			if s.Len() == 0 && len(s.Outputs) == 0 {
				b.WriteString("The state file is empty. No resources are represented.\n")
			} else {
				StateText(&b, s, schemas.Of, Options{})
			}
			checkPeer(t, c, "lethe.state.txt", c.files["state.txt"], b.String())
			b.Reset()
			if err := OutputsText(&b, s.Outputs, Options{}); err != nil {
				t.Fatal(err)
			}
			if len(s.Outputs) > 0 {
				checkPeer(t, c, "lethe.output.txt", c.files["output.txt"], b.String())
			}
		})
	}
}

// TestStateJSONLikePeer compares the JSON of each recorded state with the output of Terraform.
func TestStateJSONLikePeer(t *testing.T) {
	schemas := loadSchemas(t)
	for _, c := range loadCases(t) {
		if c.files["terraform.tfstate"] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteStateJSON(&b, c.state(t), schemas.Of, "1.11.4"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parsed(t, c.files["state.json"]), parsed(t, b.String())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (c peerCase) state(t *testing.T) *state.Snapshot {
	t.Helper()
	var bag diag.Bag
	s, ok := state.Read([]byte(c.files["terraform.tfstate"]), &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return s
}
