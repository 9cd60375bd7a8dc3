// Package rules checks that the tests of Lethe enforce its rules. It breaks one rule at a time in a copy of the source
// code, runs the tests of the package, and checks that the test for this rule fails.
package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// enough is the number of broken rules that their tests must report. Without LETHE_LONG, TestBrokenRulesAreNamed breaks
// only one of every six rules (each), and the tests must report all of these.
const enough, each = 18, 6

// A rule is a text in a file. If it is replaced by the broken text, the test must fail.
type rule struct{ file, text, broken, test string }

var rules = []rule{
	{"internal/object/apply.go", "if prior == nil && entry != nil {\n\t\t\tentry.Tainted = true", "if false {\n\t\t\tentry.Tainted = true", "TestFailedCreateIsTainted"},
	{"internal/object/apply.go", "prior.Tainted && !a.Succeeded", "false", "TestFailedUpdateKeepsTaint"},
	{"internal/object/guard/calls.go", "good && a.out.Succeeded && !a.answer.legacy {", "false {", "TestApplyKeepsToThePlan"},
	{"internal/object/refresh.go", "if entry.Schema > t.Type.Version {", "if false {", "TestStateOfANewerProviderIsRefused"},
	{"internal/object/guard/checks.go", "case a.answer.mayDefer:", "case true:", "TestDeferredAnswersAreRefused"},
	{"internal/object/guard/checks.go", "if a.out.Value, object = a.object(a.out.Value); !object {", "if _, object = a.object(a.out.Value); !object {", "TestSecretInAnAnswerIsNotRecorded"},
	{"internal/object/plan.go", "case cur.Entry.Tainted:", "case false:", "TestTaintedObjectIsPlannedAsNew"},
	{"internal/engine/planning/protection.go", "!prevent || !ends || overridden", "true || overridden", "TestPreventDestroyRefusesDestroyAndReplacement"},
	{"internal/engine/planning/orphans.go", "return plan.DeleteCountIndex", "return plan.DeleteEachKey", "TestObjectThatNothingDeclaresIsDeleted"},
	{"internal/engine/planning/instance.go", "if !ok {\n\t\treturn nil, nil, plan.Outcome{}\n\t}\n\tif behind", "if false && !ok {\n\t\treturn nil, nil, plan.Outcome{}\n\t}\n\tif behind", "TestFailedPreconditionKeepsAnObjectFromBeingPlanned"},
	{"internal/engine/planning/decide.go", "if p.req.Mode == plan.RefreshOnly {", "if false {", "TestRefreshOnlyChangesNothing"},
	{"internal/engine/planning/instance.go", "out.Triggered = out.Triggered || ", "out.Triggered = false && ", "TestTriggerReplaces"},
	{"internal/engine/applying/objects.go", "results = x.a.restore(c.Object, old)", "_ = x.a.restore", "TestFailedCreateFirstKeepsTheOldObject"},
	{"internal/engine/applying/objects.go", "return p, out.Kind == plan.Known && t.Within(c, p)", "return p, out.Kind == plan.Known", "TestFinalPlanKeepsToTheApprovedOne"},
	{"internal/engine/applying/applier.go", "a.journalFailed(err)\n\t\treturn 0, false", "a.journalFailed(err)\n\t\treturn 0, true", "TestNothingIsChangedWithoutAJournal"},
	{"internal/lang/vet/moves.go", "ok, m.ok = false, false\n\t\t\treturn", "return", "TestMovesInACircleAreRefused"},
	{"internal/lang/vet/writeonly.go", "if o.Sensitive || !reaches(root.Decl(i)) {", "if o.Sensitive || reaches(root.Decl(i)) {", "TestOutputOfAWriteOnlyAttributeIsSensitive"},
	{"internal/lang/frame/slots.go", "&slot{failed: true}", "nil", "TestFailureIsReportedOnce"},
	{"internal/cli/runcmd/plan.go", "if f.detailed && ", "if false && f.detailed && ", "TestDetailedExitCodeTellsWhetherThereAreChanges"},
	{"internal/cli/statecmd/rm.go", "ok && !f.dryRun\n\t})", "ok\n\t})", "TestDryRunChangesNoState"},
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

func TestBrokenRulesAreNamed(t *testing.T) {
	tree := t.TempDir()
	if out, err := exec.Command("cp", "-r", "../../go.mod", "../../go.sum", "../../internal", tree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	named, broken := 0, 0
	for i, r := range rules {
		path := filepath.Join(tree, r.file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(whole), r.text) != 1 {
			t.Errorf("%s does not have this text once: %q", r.file, r.text)
			continue
		}
		if os.Getenv("LETHE_LONG") == "" && i%each != 0 {
			continue
		}
		broken++
		write := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		write(strings.Replace(string(whole), r.text, r.broken, 1))
		cmd := exec.Command("go", "test", "-vet=off", "./"+strings.TrimSuffix(filepath.Dir(r.file), "/guard")+"/...")
		cmd.Dir = tree
		out, _ := cmd.CombinedOutput()
		write(string(whole))
		var failed []string
		for _, m := range failure.FindAllStringSubmatch(string(out), -1) {
			failed = append(failed, m[1])
		}
		if strings.Contains(string(out), "[build failed]") {
			t.Errorf("%s: does not compile:\n%s", r.test, out)
			continue
		}
		if slices.Contains(failed, r.test) {
			named++
		} else {
			t.Logf("NOT NAMED: %s", r.test)
		}
		t.Logf("%s: %s", r.file, strings.Join(failed, ", "))
	}
	if named < min(broken, enough) {
		t.Errorf("%d of %d rules are named by a test", named, broken)
	}
}
