package sdk

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/test/providers/source"
)

var (
	scenarios = flag.Int("scenarios", ifLong(5000, 200), "how many scenarios are run")
	seed      = flag.Uint64("seed", uint64(ifLong(int(time.Now().Unix()), 1)), "the seed of the first batch")
	only      = flag.String("only", "", "seeds of batches to run, separated by commas")
	with      = flag.String("with", "", "a pattern: only scenarios with it in their text are run")
	without   = flag.String("without", "", "a pattern: scenarios with it in their text are left out")
	size      = flag.Int("size", 25, "how many scenarios one batch holds")
	workers   = flag.Int("workers", 2, "how many batches are run at a time")
	stop      = flag.Int("stop", 5, "how many classes of differences are made smaller")
	shrink    = flag.Int("shrink", 20, "how often a scenario is run while it is made smaller")
	into      = flag.String("found", "", "directory of the reproductions (a temporary one)")
)

// ifLong returns long in a long run, which uses new seeds each time, and short otherwise.
func ifLong(long, short int) int {
	if os.Getenv("LETHE_LONG") != "" {
		return long
	}
	return short
}

// lab builds the providers and Lethe, unless LETHE_BIN names the program. It skips the test if Terraform is not on
// PATH.
func lab(t *testing.T) *Lab {
	t.Helper()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not on PATH: there is nothing to compare with")
	}
	bin := t.TempDir()
	l := &Lab{Lethe: os.Getenv("LETHE_BIN"), Terraform: terraform, Plugins: bin, Dir: t.TempDir()}
	if quick, err := os.MkdirTemp("/dev/shm", "sdk"); err == nil { // a file system in memory, because short commands spend most of their time on files
		l.Dir = quick
		t.Cleanup(func() { os.RemoveAll(quick) })
	}
	plugin := filepath.Join(bin, "terraform-provider-old")
	if err := source.Build(".", "./cmd/terraform-provider-sdk", plugin); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(plugin, filepath.Join(bin, "terraform-provider-fw")); err != nil {
		t.Fatal(err)
	}
	if l.Lethe == "" {
		l.Lethe = filepath.Join(bin, "lethe")
		if err := source.Build("../..", "./cmd/lethe", l.Lethe); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestBesideTerraform runs random scenarios with both engines.
func TestBesideTerraform(t *testing.T) {
	l := lab(t)
	if *into == "" {
		dir, err := os.MkdirTemp("", "sdk-found-")
		if err != nil {
			t.Fatal(err)
		}
		*into = dir
	}
	var (
		work    = make(chan uint64)
		group   sync.WaitGroup
		mu      sync.Mutex
		classes = map[string]int{}
		ran     int
		start   = time.Now()
	)
	for range *workers {
		group.Go(func() {
			for seed := range work {
				b := Generate(seed, *size)
				if *without != "" {
					b.drop(regexp.MustCompile(*without), true)
				}
				if *with != "" {
					b.drop(regexp.MustCompile(*with), false)
				}
				found, err := l.play(b)
				mu.Lock()
				ran += len(b.Pieces)
				mu.Unlock()
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				for _, d := range found {
					mu.Lock()
					classes[d.class()]++
					first := classes[d.class()] == 1 && len(classes) <= *stop
					mu.Unlock()
					if !first {
						t.Errorf("seed %d: %s\n    class %s", seed, d, d.class())
						continue
					}
					dir := filepath.Join(*into, fmt.Sprintf("%d-%s", seed, owner(d.At)))
					small, d := l.Shrink(b, d, *shrink)
					err := small.Write(dir, d)
					t.Errorf("seed %d: %s\n    class %s\n    see %s (%v)", seed, d, d.class(), dir, err)
				}
			}
		})
	}
	for _, s := range seeds() {
		mu.Lock()
		enough := ran >= *scenarios
		mu.Unlock()
		if *only == "" && enough {
			break
		}
		work <- s
	}
	close(work)
	group.Wait()
	t.Logf("%d scenarios in %s; of %d commands of Terraform %d failed; %d classes of differences: %v", ran, time.Since(start).Round(time.Second), l.commands.Load(), l.failed.Load(), len(classes), classes)
	if left, err := os.ReadDir(*into); err == nil && len(left) == 0 {
		os.Remove(*into)
	}
}

// play runs a batch in a separate directory.
func (l *Lab) play(b *Batch) ([]Difference, error) {
	dir, err := os.MkdirTemp(l.Dir, "batch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return l.Play(b, dir)
}

// seeds returns the seeds of -only, or as many seeds from -seed on as there are scenarios.
func seeds() []uint64 {
	var all []uint64
	if *only != "" {
		for _, word := range strings.Split(*only, ",") {
			if n, err := strconv.ParseUint(word, 10, 64); err == nil {
				all = append(all, n)
			}
		}
		return all
	}
	for i := range *scenarios {
		all = append(all, *seed+uint64(i))
	}
	return all
}

// TestRows checks that docs/differences.md has the row that each rule names.
func TestRows(t *testing.T) {
	doc, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if r.row != "" && !strings.Contains(string(doc), "\n| "+r.row) {
			t.Errorf("no row begins with %q", r.row)
		}
	}
}
