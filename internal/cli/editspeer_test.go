package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// TestEditsBesidePeer creates random configurations with Terraform and edits them at random, with moved, removed and
// import blocks. It compares the plans and results of Lethe with the plans and results of Terraform. The functions
// refusal, explain and explainTargets recognise the intended differences. The test makes 4 such comparisons, and 400 if
// LETHE_LONG is set. LETHE_EDITS sets the number of comparisons, and LETHE_EDITS_FROM the first seed.
func TestEditsBesidePeer(t *testing.T) {
	secondLane(t, runsPeer)
	t.Parallel()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("there is no terraform on PATH")
	}
	from, rounds := uint64(time.Now().Unix()/86400*1000), 4
	if os.Getenv("LETHE_LONG") != "" {
		rounds = 400
	}
	if n, err := strconv.Atoi(os.Getenv("LETHE_EDITS")); err == nil {
		rounds = n
	}
	if n, err := strconv.ParseUint(os.Getenv("LETHE_EDITS_FROM"), 10, 64); err == nil {
		from = n
	}
	count := map[string]int{}
	for seed := from; seed < from+uint64(rounds); seed++ {
		e := &editing{T: t, draft: newDraft(seed)}
		class, diff := e.run(t.TempDir())
		count[class]++
		if diff != "" {
			t.Errorf("seed %d:\n%s\n%s", seed, e.story, diff)
		}
	}
	t.Log(count)
}

// editing is one random configuration and its edit.
type editing struct {
	*testing.T
	*draft
	story string   // both configurations and the flags, for messages
	flags []string // the flags of the command plan
}

// outcome is the plan and the result of one of the two programs for an edit.
type outcome struct {
	code    int
	text    string
	warned  bool               // the plan warns that moves lead to existing objects
	changes map[string]planned // the planned changes, by address
	final   map[string]string  // the objects in the state after the apply, by address; nil if the apply failed
}

// planned is a change in the JSON form of a plan.
type planned struct{ actions, reason, previous string }

func (p planned) String() string { return strings.Join([]string{p.actions, p.reason, p.previous}, " ") }

func (e *editing) run(dir string) (class, diff string) {
	first, theirs, ours := e.write(), filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	e.put(theirs, first)
	if code, text := e.peer(theirs, "apply", "-auto-approve"); code != 0 {
		e.Fatalf("the first configuration cannot be applied:\n%s\n%s", first["main.tf"], text)
	}
	e.edit()
	second := e.write()
	e.flags = e.planFlags()
	e.story = fmt.Sprintf("-- 1/main.tf --\n%s-- 1/m/main.tf --\n%s-- 2/main.tf --\n%s-- 2/m/main.tf --\n%splan %v", first["main.tf"], first["m/main.tf"], second["main.tf"], second["m/main.tf"], e.flags)
	if err := os.CopyFS(ours, os.DirFS(theirs)); err != nil {
		e.Fatal(err)
	}
	e.put(theirs, second)
	e.put(ours, second)
	want, got := e.apply(theirs, e.peer), e.apply(ours, e.lethe)
	if class := refusal(want, got, e.flags); class != "" {
		return class, ""
	}
	if want.code != got.code {
		return "code", fmt.Sprintf("exit code %d, and the peer has %d:\n%s\n%s", got.code, want.code, got.text, want.text)
	}
	if want.code != 0 {
		return "refused by both", ""
	}
	class, diff = "the same", ""
	explain(want, got, e.draft)
	if slices.ContainsFunc(e.flags, func(f string) bool { return strings.HasPrefix(f, "-target=") }) {
		explainTargets(want, got)
	}
	for _, at := range slices.Sorted(maps.Keys(union(want.changes, got.changes))) {
		if w, g := want.changes[at], got.changes[at]; w != g {
			diff += fmt.Sprintf("%s: %v; the peer: %v\n", at, g, w)
		}
	}
	if len(want.final) > 0 || len(got.final) > 0 {
		for _, at := range slices.Sorted(maps.Keys(union(want.final, got.final))) {
			if w, g := want.final[at], got.final[at]; w != g {
				diff += fmt.Sprintf("in the state, %s: %q; the peer: %q\n", at, g, w)
			}
		}
	}
	return class, diff
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (e *editing) planFlags() []string {
	r := rand.New(rand.NewPCG(e.Uint64(), 1))
	switch r.IntN(10) {
	case 0:
		return []string{"-destroy"}
	case 1, 2:
		if p := e.root[r.IntN(len(e.root))]; p.declared {
			if i := p.repeat.instances(); len(i) > 0 {
				return []string{"-replace=terraform_data." + p.name + i[0]}
			}
		}
	case 3:
		return []string{"-target=terraform_data." + e.root[r.IntN(len(e.root))].name}
	case 4:
		return []string{"-refresh-only"}
	}
	return nil
}

func (e *editing) put(dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			e.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			e.Fatal(err)
		}
	}
}

// peer runs Terraform.
func (e *editing) peer(dir string, args ...string) (int, string) {
	run := func(args ...string) (int, string) {
		cmd := exec.Command("terraform", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null", "NO_COLOR=1", "CHECKPOINT_DISABLE=1", "TF_INPUT=0")
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if args[0] != "show" {
		if code, out := run("get"); code != 0 {
			return code, out
		}
	}
	return run(args...)
}

func (e *editing) lethe(dir string, args ...string) (int, string) {
	var out bytes.Buffer
	code := cli.Main(cli.Env{
		Args: args, Program: "lethe", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir, Now: time.Now,
		Environ: []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0"},
	})
	return code, out.String()
}

// apply plans and applies the configuration in a directory with one program. The function run runs a command of the
// program there. If the plan fails, the outcome has no changes.
func (e *editing) apply(dir string, run func(string, ...string) (int, string)) *outcome {
	o := &outcome{changes: map[string]planned{}}
	if o.code, o.text = run(dir, append([]string{"plan", "-no-color", "-out=p"}, e.flags...)...); o.code != 0 {
		return o
	}
	o.warned = strings.Contains(o.text, "Unresolved resource instance address changes")
	_, text := run(dir, "show", "-json", "p")
	var doc struct {
		Changes []struct {
			Address, Deposed string
			Previous         string `json:"previous_address"`
			Reason           string `json:"action_reason"`
			Change           struct {
				Actions   []string
				Importing *struct{ ID string }
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		e.Fatalf("%s: %v\n%s", e.story, err, text)
	}
	for _, c := range doc.Changes {
		p := planned{strings.Join(c.Change.Actions, ","), c.Reason, c.Previous}
		if c.Change.Importing != nil {
			p.actions += " import " + c.Change.Importing.ID
		}
		o.changes[c.Address+c.Deposed] = p
	}
	if o.code, o.text = run(dir, "apply", "-no-color", "p"); o.code == 0 {
		o.final = e.state(dir)
	}
	return o
}

// state returns the objects in the state of a directory, by address.
func (e *editing) state(dir string) map[string]string {
	text, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
	if err != nil {
		return nil
	}
	var doc struct {
		Resources []struct {
			Module, Name string
			Instances    []struct {
				Key        any `json:"index_key"`
				Deposed    string
				Attributes map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		e.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			out[fmt.Sprint(r.Module, ".", r.Name, i.Key, i.Deposed != "")] = fmt.Sprint("replaced ", i.Attributes["triggers_replace"])
		}
	}
	return out
}

// refusal returns the reason if one program rejects on purpose an edit that the other accepts, and "" otherwise.
func refusal(want, got *outcome, flags []string) string {
	reports := func(o *outcome, text string) bool { return o.code != 0 && strings.Contains(o.text, text) }
	switch {
	case reports(want, "Error: Cycle"):
		return "a cycle there"
	case reports(want, "Error: Self reference: ") && got.code == 0:
		return "a move to what the object depends on"
	case reports(want, "Error: no change found for"):
		return "a trigger without instances"
	case reports(want, "Moved object still exists") && slices.Contains(flags, "-destroy") && got.code == 0:
		return "a destruction with wrong moves"
	case reports(got, "Objects were forgotten, not destroyed") && slices.Contains(flags, "-destroy"):
		return "a destruction that forgets"
	case want.warned && !got.warned:
		return "a move to where other things are"
	case reports(want, "Cannot apply non-applyable plan") && got.code == 0:
		return "a refresh-only plan without changes"
	case reports(want, "Moved resource instances excluded by targeting") && got.code == 0:
		return "targets of the old place"
	}
	return ""
}

// keyless matches the key of a module instance.
var keyless = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[^]]*\]\.`) })

// unsaid reports whether a removed block without lifecycle covers an address. Lethe forgets the objects of such a
// block, and Terraform destroys them.
func (d *draft) unsaid(at string) bool {
	return slices.ContainsFunc(d.extra, func(block string) bool {
		from, plain := strings.CutPrefix(block, "removed {\n  from = ")
		from, rest, _ := strings.Cut(from, "\n")
		at := keyless().ReplaceAllString(at, ".")
		return plain && rest == "}\n" && (at == from || strings.HasPrefix(at, from+"[") || strings.HasPrefix(at, from+"."))
	})
}

// explain removes the intended differences between Terraform (want) and Lethe (got) from both outcomes.
func explain(want, got *outcome, d *draft) {
	for at, w := range maps.Clone(want.changes) {
		g := got.changes[at]
		switch {
		case g.actions == "forget" && w.actions == "delete" && d.unsaid(at):
			w = g // a removed block without lifecycle: Lethe forgets the object
		case w.actions == "create" && w.reason == "replace_by_triggers":
			w.reason = "" // Lethe gives no such reason for a new object, of which nothing has changed
		case w.reason == "delete_because_no_resource_config" && g.reason == "delete_because_no_module":
			w.reason = g.reason // Lethe names the missing module as the reason
		case w.actions == "delete" && g == planned{} && got.changes[counterpart(at)] == w: // with -destroy, Lethe destroys the object at its other address, with or without [0]
			delete(want.changes, at)
			delete(got.changes, counterpart(at))
			continue
		case w.reason == "delete_because_wrong_repetition" && g == planned{} && got.changes[counterpart(at)].previous != "":
			delete(want.changes, at) // in Lethe, the change of count moves the object, also after a moved block
			delete(want.changes, counterpart(at))
			delete(got.changes, counterpart(at))
			continue
		}
		want.changes[at] = w
	}
	for at, w := range maps.Clone(want.final) { // with -refresh-only, only the state shows the move that a change of count causes
		whole, alone := strings.CutSuffix(at, "<nil> false")
		first, name := whole+"0 false", whole[strings.LastIndex(whole, "."):]
		named := slices.ContainsFunc(d.extra, func(block string) bool {
			return strings.HasPrefix(block, "moved {") && strings.Contains(block, name)
		})
		if alone && named && got.final[at] == "" && got.final[first] == w && want.final[first] == "" {
			delete(want.final, at)
			delete(got.final, first)
		}
	}
}

// explainTargets removes the intended differences with -target. Lethe creates the new object of a replacement first if
// a dependent object that is not targeted uses create_before_destroy. Lethe also destroys every object that its plan
// destroys.
func explainTargets(want, got *outcome) {
	for at, g := range got.changes {
		if w := want.changes[at]; g.actions == "create,delete" && w.actions == "delete,create" && g.reason == w.reason {
			want.changes[at] = g
		}
	}
	maps.DeleteFunc(want.final, func(at, _ string) bool {
		deposed := strings.HasSuffix(at, "true")
		return got.final[at] == "" && (deposed || slices.ContainsFunc(slices.Collect(maps.Keys(got.changes)), func(a string) bool {
			_, name, _ := strings.Cut(a, "terraform_data.")
			name, _, _ = strings.Cut(name, "[")
			return got.changes[a].actions == "delete" && strings.Contains(at, "."+name)
		}))
	})
}

// counterpart returns the address that a single instance has after count was added or removed: with or without "[0]" at
// the end.
func counterpart(at string) string {
	if only, ok := strings.CutSuffix(at, "[0]"); ok {
		return only
	}
	return at + "[0]"
}
