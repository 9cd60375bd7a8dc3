// Command bench measures the cost of commands of Lethe and of its peers, and prints the table of docs/performance.md.
//
//	go run . -engine lethe -engine terraform
//
// Each row runs in rounds: every engine once, in turn. The table has the median of each figure. CPU times are usable on
// a machine that does other work, too; wall times are not.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	engines []string
	only    *regexp.Regexp
	groups  []string
	pairs   int
	timeout time.Duration
	enough  time.Duration
	limit   float64
	json    io.Writer
}

func main() {
	var err error
	if os.Getenv(meterVariable) != "" {
		os.Unsetenv(meterVariable)
		err = meter(os.Args[1:])
	} else {
		err = command(os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command parses flags, measures, and prints the table to out. Progress and failed commands are written to progress. It
// returns an error for wrong flags, for failed commands, and if the last engine exceeds the limit.
func command(arguments []string, out, progress io.Writer) error {
	s := settings{json: io.Discard}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Func("engine", "`NAME`, NAME=PATH or NAME=@COMMIT; several times. lethe is compiled from this repository, @COMMIT from that commit; other names are looked up on PATH", func(v string) error {
		s.engines = append(s.engines, v)
		return nil
	})
	row := flags.String("row", "", "measure only rows whose names match this regular `expression`")
	group := flags.String("group", "usual", "rows to measure: `usual`, big, or usual,big")
	flags.IntVar(&s.pairs, "pairs", 5, "`number` of rounds")
	flags.DurationVar(&s.timeout, "timeout", 2*time.Minute, "`time` after which a command is given up")
	flags.DurationVar(&s.enough, "enough", 20*time.Second, "`time` after which an engine that has run a row's command is not measured again, unless there is a limit")
	flags.Float64Var(&s.limit, "limit", 0, "fail if the last engine needs over this many `percent` more CPU than the first")
	record := flags.String("json", "", "also append the figures of each command to this `file`")
	list := flags.Bool("list", false, "print the names of the rows")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var err error
	if s.only, err = regexp.Compile(*row); err != nil {
		return err
	}
	s.groups = strings.Split(*group, ",")
	if *list {
		for _, r := range rows() {
			fmt.Fprintf(out, "%-6s %s\n", r.Group, r.Name)
		}
		return nil
	}
	if len(s.engines) == 0 || s.pairs < 1 {
		return errors.New("at least one -engine and one pair are needed; -h lists the flags")
	}
	if *record != "" {
		f, err := os.OpenFile(*record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		s.json = f
	}
	return measure(s, out, progress)
}

// measure measures all selected rows. A row above the limit or with a failed command is an error, which it returns
// after it has measured all rows and printed the table. A command that is not finished in time is no error.
func measure(s settings, out, progress io.Writer) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(dir, s.timeout)
	if err != nil {
		return err
	}
	var engines []engine
	for _, spec := range s.engines {
		e, err := find(spec, filepath.Join(dir, "engines"))
		if err != nil {
			return err
		}
		engines = append(engines, e)
	}
	var measured []line
	var slower, broken []string
	for i, r := range rows() {
		if !s.only.MatchString(r.Name) || !contains(s.groups, string(r.Group)) {
			continue
		}
		l, err := b.line(r, i, engines, s)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		fmt.Fprintln(progress, l.cells(engines))
		for _, err := range l.failed {
			if err != nil && !errors.Is(err, errSlow) {
				fmt.Fprintln(progress, err)
				broken = append(broken, r.Name)
			}
		}
		measured = append(measured, l)
		if over := l.over(); s.limit > 0 && over > s.limit {
			slower = append(slower, fmt.Sprintf("%s: %.1f %% more CPU", r.Name, over))
		}
	}
	printTable(out, engines, measured)
	if len(broken) > 0 {
		return fmt.Errorf("commands failed: %s", strings.Join(broken, "; "))
	}
	if len(slower) > 0 {
		return fmt.Errorf("%s is over the limit of %g %% beside %s:\n%s", engines[len(engines)-1].Name, s.limit, engines[0].Name, strings.Join(slower, "\n"))
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// find returns the engine that spec, the value of a flag -engine, names. It compiles Lethe into dir if spec is "lethe"
// without a path, or if spec names a commit (NAME=@COMMIT).
func find(spec, dir string) (engine, error) {
	name, path, given := strings.Cut(spec, "=")
	if strings.ContainsAny(name, `/\`) {
		return engine{}, fmt.Errorf("-engine %s: the name of an engine has no slash; use NAME=PATH", spec)
	}
	compiled := filepath.Join(dir, name)
	switch {
	case strings.HasPrefix(path, "@"):
		source := compiled + ".source"
		if err := checkOut(path[1:], source); err != nil {
			return engine{}, err
		}
		return engine{name, compiled}, compile(source, compiled, "./cmd/lethe")
	case given:
		abs, err := filepath.Abs(path)
		return engine{name, abs}, err
	case name == "lethe":
		return engine{name, compiled}, compile(repository, compiled, "./cmd/lethe")
	}
	path, err := exec.LookPath(name)
	return engine{name, path}, err
}

// repository is the root of the repository, seen from this directory.
const repository = "../.."

// checkOut writes the files of a commit to dir.
func checkOut(commit, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	archive := exec.Command("git", "-C", repository, "archive", commit)
	unpack := exec.Command("tar", "-x", "-C", dir)
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	archive.Stderr, unpack.Stderr = os.Stderr, os.Stderr
	if err := unpack.Start(); err != nil {
		return err
	}
	err = archive.Run()
	return errors.Join(err, unpack.Wait())
}

// line measures a row: every engine once in each round, in an order that changes with the round. It skips an engine
// that has failed. Without a limit, it also skips an engine that has run longer than s.enough. With a limit, it adds up
// to two longer series of rounds while the last engine exceeds the limit. The errors of commands are in the line.
func (b *bench) line(r row, number int, engines []engine, s settings) (line, error) {
	l := line{row: r, runs: make([][]figures, len(engines)), failed: make([]error, len(engines))}
	var places []*place
	for _, e := range engines {
		p, err := b.place(r, e, number)
		if err != nil {
			return l, err
		}
		defer os.RemoveAll(p.dir)
		// The first engine makes the state of the row, and the others get a copy, because some peers need minutes for some
		// states. A saved plan can be used only by the engine that made it.
		if r.Op.planned() || len(places) == 0 {
			err = p.prepare(e)
		} else {
			err = p.take(places[0])
		}
		if err != nil {
			return l, err
		}
		places = append(places, p)
	}
	spent := make([]time.Duration, len(engines))
	for attempt := 1; ; attempt++ {
		for round := range s.pairs * attempt {
			for i := range engines {
				at := (i + round) % len(engines)
				if l.failed[at] != nil || s.limit == 0 && spent[at] > s.enough {
					continue
				}
				f, err := places[at].measure(engines[at])
				if err != nil {
					l.failed[at], l.runs[at] = err, nil
					continue
				}
				spent[at] += time.Duration(f.Wall * float64(time.Second))
				l.runs[at] = append(l.runs[at], f)
				if err := json.NewEncoder(s.json).Encode(map[string]any{"row": r.Name, "engine": engines[at].Name, "figures": f}); err != nil {
					return l, err
				}
			}
		}
		// Other work on the machine makes single figures large: only a difference that stays counts.
		if s.limit == 0 || attempt == 3 || l.over() <= s.limit {
			return l, nil
		}
	}
}
