package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(meterVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRow measures one row through the command line, with Lethe of this repository as both engines.
func TestRow(t *testing.T) {
	record := filepath.Join(t.TempDir(), "figures.json")
	var table, progress bytes.Buffer
	err := command([]string{"-engine", "lethe", "-engine", "again=" + lethe(t), "-row", "^one resource, plan$", "-pairs", "1", "-json", record}, &table, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "| scenario | lethe | again | again : lethe, engine / total |") {
		t.Fatalf("the table is:\n%s", &table)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for entries := json.NewDecoder(bytes.NewReader(data)); entries.More(); {
		var entry struct{ Figures figures }
		if err := entries.Decode(&entry); err != nil {
			t.Fatal(err)
		}
		f := entry.Figures
		if f.Starts != 1 || f.Calls["PlanResourceChange"] != 1 || f.Wall <= 0 || f.Serve <= 0 || f.engine() <= 0 || f.Peak < 5 {
			t.Errorf("implausible figures: %s", data)
		}
	}
}

// TestShapes checks the configuration of every row, with few objects.
func TestShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("validates every configuration")
	}
	b, err := newBench(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.timeout = 1 << 40
	of := engine{"lethe", lethe(t)}
	seen := map[string]bool{}
	for i, r := range rows() {
		r.N = min(r.N, 10)
		p, err := b.place(r, of, i)
		if err != nil {
			t.Fatal(err)
		}
		main, err := os.ReadFile(filepath.Join(p.dir, "main.tf"))
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(main)] {
			continue
		}
		seen[string(main)] = true
		if _, err := p.run(of, validate.arguments()); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

// TestPrepared measures commands that need a state or a saved plan.
func TestPrepared(t *testing.T) {
	b, err := newBench(t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	engines := []engine{{"lethe", lethe(t)}, {"again", lethe(t)}}
	for i, op := range []operation{noop, stale, destroy, show, stateList, secrets} {
		l, err := b.line(row{Name: string(op), Shape: blocks, N: 3, Op: op}, i, engines, settings{pairs: 1, enough: 1 << 40, json: new(bytes.Buffer)})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range l.failed {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLimit checks that a difference above the limit counts only if it is in most rounds and larger than the resolution
// of the clock.
func TestLimit(t *testing.T) {
	cpu := func(seconds ...float64) (runs []figures) {
		for _, s := range seconds {
			runs = append(runs, figures{User: s})
		}
		return runs
	}
	for _, c := range []struct {
		first, last []figures
		over        bool
	}{
		{cpu(1, 1, 1), cpu(1.04, 1.04, 1.04), false},
		{cpu(1, 1, 1), cpu(1.2, 1.2, 1.2), true},
		{cpu(1, 1, 1), cpu(1, 9, 1), false},
		{cpu(1, 2, 3), cpu(1.2, 2.4, 3.6), true},
		{cpu(0.010, 0.010), cpu(0.014, 0.014), false}, // a difference below the resolution of the clock does not count
		{cpu(1), nil, false},
	} {
		l := line{runs: [][]figures{c.first, c.last}}
		if got := l.over() > 5; got != c.over {
			t.Errorf("%v beside %v: over the limit is %v", c.last, c.first, got)
		}
	}
}

// lethe compiles the program of this repository and returns its path.
func lethe(t *testing.T) string {
	t.Helper()
	e, err := find("lethe", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return e.Path
}

// TestRoundsCost compares an apply in five rounds with an apply of as many objects in one round: the provider gets the
// same calls. The row of the table shows the CPU time.
func TestRoundsCost(t *testing.T) {
	record := filepath.Join(t.TempDir(), "figures.json")
	var table, progress bytes.Buffer
	err := command([]string{"-engine", "lethe=" + lethe(t), "-row", "^apply, (count 1,000|1,000 in five rounds)$", "-pairs", "1", "-json", record}, &table, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]figures{}
	for entries := json.NewDecoder(bytes.NewReader(data)); entries.More(); {
		var entry struct {
			Row     string
			Figures figures
		}
		if err := entries.Decode(&entry); err != nil {
			t.Fatal(err)
		}
		seen[entry.Row] = entry.Figures
	}
	one, five := seen["apply, count 1,000"], seen["apply, 1,000 in five rounds"]
	for _, call := range []string{"PlanResourceChange", "ApplyResourceChange"} {
		if one.Calls[call] != 1000 || five.Calls[call] != one.Calls[call] {
			t.Errorf("%d calls of %s in five rounds, %d in one", five.Calls[call], call, one.Calls[call])
		}
	}
	t.Logf("CPU time of the engine: %.2f s in five rounds, %.2f s in one: %.2f times", five.engine(), one.engine(), five.engine()/one.engine())
}
