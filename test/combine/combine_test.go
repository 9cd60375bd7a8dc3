package combine

import (
	"flag"
	"fmt"
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
)

var (
	alone  = flag.Int("alone", ifLong(2000, 100), "how many scenarios are judged without a peer")
	nextTo = flag.Int("beside", ifLong(500, 10), "how many are run beside Terraform, where it is on PATH")
	seed   = flag.Uint64("seed", uint64(ifLong(int(time.Now().Unix()), 1)), "the seed of the first scenario")
	only   = flag.String("only", "", "seeds to run, separated by commas, in the place of others")
	with   = flag.String("with", "", "patterns separated by && that must be in the text of a scenario: others are passed over")
	shrink = flag.Int("shrink", 250, "how often a failing scenario is run to make it smaller")
	into   = flag.String("found", "", "a directory for the scripts of what is found")
	ignore = flag.String("ignore", "", "a pattern of classes that are known already")
	many   = flag.Int("workers", 2, "how many scenarios are run at a time")
	stop   = flag.Int("stop", 3, "how many different faults are shrunk")
)

// ifLong returns long in a long run, and short otherwise. A long run uses new seeds each time.
func ifLong(long, short int) int {
	if os.Getenv("LETHE_LONG") != "" {
		return long
	}
	return short
}

// TestAlone judges scenarios without a peer.
func TestAlone(t *testing.T) { run(t, lab(t, ""), *alone, true) }

// TestBeside judges scenarios beside Terraform.
func TestBeside(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	run(t, lab(t, terraform), *nextTo, false)
}

// TestRows checks that docs/differences.md has a row for each rule.
func TestRows(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes {
		if !strings.Contains(string(text), "\n| "+c.reason) {
			t.Errorf("no row begins with %q", c.reason)
		}
	}
}

// A score counts the results of scenarios. useful scenarios have a step that succeeded and did something, and through
// is the number of such steps. told counts error messages by shape, and killed the killed commands.
type score struct {
	sync.Mutex
	start                  time.Time
	ran, faults            int
	steps, through, useful int
	classes, told, killed  map[string]int
}

// run plays n scenarios, or those of -only, with several workers, and logs the counts. If alone is true, no peer runs
// them.
func run(t *testing.T, l *Lab, n int, alone bool) {
	all := &score{start: time.Now(), classes: map[string]int{}, told: map[string]int{}, killed: map[string]int{}}
	work := make(chan uint64)
	var workers sync.WaitGroup
	for i := range *many {
		own := *l
		own.Dir = filepath.Join(l.Dir, strconv.Itoa(i))
		workers.Go(func() {
			for seed := range work {
				all.play(t, &own, Generate(seed, alone))
			}
		})
	}
	for _, seed := range seeds(n, alone) {
		work <- seed
	}
	close(work)
	workers.Wait()
	t.Logf("errors that were told: %v", all.told)
	t.Logf("%d of %d steps went through; %d of %d scenarios have one that did something", all.through, all.steps, all.useful, all.ran)
	t.Logf("commands that were killed: %v", all.killed)
	t.Logf("%d scenarios in %s, %d with a fault, classes: %v", all.ran, time.Since(all.start).Round(time.Second), all.faults, all.classes)
}

// play runs one scenario and reports its findings. If the class of the first finding is new, it shrinks the scenario
// and reports the script, which it also writes to the directory of -found.
func (all *score) play(t *testing.T, l *Lab, s *Scenario) {
	found, outcomes, err := l.play(s)
	if err != nil {
		t.Errorf("seed %d: %v", s.Seed, err)
		return
	}
	if !all.count(t, found, outcomes) {
		for _, f := range found {
			t.Errorf("seed %d: %s", s.Seed, f)
		}
		return
	}
	small, seen := l.Shrink(s, found[0].Class, *shrink)
	_, outcomes, err = l.play(small)
	if err != nil || seen.Class == "" {
		small, seen = s, found[0]
	}
	script := small.Script(seen, outcomes)
	t.Errorf("seed %d: %s\n%s", s.Seed, found[0], script)
	if *into != "" {
		name := filepath.Join(*into, fmt.Sprintf("seed%d-%v.txtar", s.Seed, s.Alone))
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// count records the result of a scenario, and reports whether to shrink it. It logs the progress of a long run.
func (all *score) count(t *testing.T, found []Finding, outcomes []*Outcome) bool {
	all.Lock()
	defer all.Unlock()
	if all.ran++; all.ran%500 == 0 {
		t.Logf("%d scenarios in %s, %d with a fault", all.ran, time.Since(all.start).Round(time.Second), all.faults)
	}
	useful := 0
	for _, o := range outcomes {
		all.steps++
		if o.through() {
			all.through++
			useful = 1
		}
		if o.Lost != nil {
			for _, v := range o.Lost.Invocations {
				if v.Killed != "" {
					all.killed[v.Args[0]+" "+v.Killed]++
				}
			}
		}
		for _, v := range o.Invocations {
			for _, e := range v.Errors {
				all.told[shape(e)]++
			}
		}
	}
	all.useful += useful
	if len(found) == 0 {
		return false
	}
	all.faults++
	all.classes[found[0].Class]++
	return all.classes[found[0].Class] == 1 && len(all.classes) <= *stop
}

// seeds returns the seeds that the flags select: the seeds of -only, or n seeds from -seed on. With -with it tries at
// most a million seeds, and may return fewer than n. alone is the argument of Generate.
func seeds(n int, alone bool) []uint64 {
	var all []uint64
	if *only != "" {
		for _, word := range strings.Split(*only, ",") {
			if one, err := strconv.ParseUint(word, 10, 64); err == nil {
				all = append(all, one)
			}
		}
		return all
	}
	var patterns []*regexp.Regexp
	for _, p := range strings.Split(*with, "&&") {
		patterns = append(patterns, regexp.MustCompile(p))
	}
	for next := *seed; len(all) < n && next < *seed+1_000_000; next++ {
		text := ""
		if *with != "" {
			text = Generate(next, alone).text()
		}
		if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return !p.MatchString(text) }) {
			all = append(all, next)
		}
	}
	return all
}

// lab builds the provider and Lethe. If LETHE_BINARY is set, it uses that program in place of Lethe. terraform is the
// path of Terraform, or "" for scenarios without a peer.
func lab(t *testing.T, terraform string) *Lab {
	t.Helper()
	dir := t.TempDir()
	l := &Lab{Lethe: os.Getenv("LETHE_BINARY"), Terraform: terraform, Provider: filepath.Join(dir, "bin"), Dir: filepath.Join(dir, "run")}
	if quick, err := os.MkdirTemp("/dev/shm", "combine"); err == nil { // a file system in memory, because commands spend most of their time on files
		l.Dir = quick
		t.Cleanup(func() { os.RemoveAll(quick) })
	}
	build := func(at string, what ...string) {
		cmd := exec.Command("go", append([]string{"build", "-o", l.Provider + "/"}, what...)...)
		cmd.Dir = at
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %v: %v\n%s", what, err, out)
		}
	}
	if *ignore != "" {
		l.Ignore = regexp.MustCompile(*ignore)
	}
	build(".", "./cmd/...")
	if l.Lethe == "" {
		build("../..", "./cmd/lethe")
		l.Lethe = filepath.Join(l.Provider, "lethe")
	}
	return l
}
