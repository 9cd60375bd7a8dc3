package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// engine is a program that the table compares.
type engine struct {
	Name string // the name in the flag -engine, and the heading of the engine's column
	Path string
}

// figures are the measurements of one command.
type figures struct {
	Wall   float64        // elapsed seconds
	User   float64        // CPU seconds in user mode, of all processes
	Sys    float64        // CPU seconds in the kernel, of all processes
	Serve  float64        // CPU seconds of the provider processes, from their own reports
	Peak   float64        // peak memory in MB of the engine, or of its keeper process if that needs more
	Starts int            // number of started provider processes
	Calls  map[string]int // number of calls of providers, by method
}

// total returns the CPU seconds of all processes.
func (f figures) total() float64 { return f.User + f.Sys }

// engine returns the CPU seconds of all processes but the provider's.
func (f figures) engine() float64 { return max(f.total()-f.Serve, 0) }

func (f figures) calls() int {
	n := 0
	for _, of := range f.Calls {
		n += of
	}
	return n
}

// bench is a run of the benchmark: its directory, the CLI configuration of the engines, and the time limit of a
// command.
type bench struct {
	dir      string // the directory for everything that the run writes
	settings string // the path of the CLI configuration that names the provider
	timeout  time.Duration
}

// newBench compiles the provider into dir and writes the CLI configuration. timeout is the time limit of each command.
func newBench(dir string, timeout time.Duration) (*bench, error) {
	b := &bench{dir: dir, settings: filepath.Join(dir, "settings.tfrc"), timeout: timeout}
	programs := filepath.Join(dir, "programs")
	for _, d := range []string{programs, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := compile("", filepath.Join(programs, "terraform-provider-bench"), "./provider"); err != nil {
		return nil, err
	}
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"example.com/bench/bench\" = %q\n  }\n  direct {}\n}\n", programs)
	return b, os.WriteFile(b.settings, []byte(settings), 0o600)
}

// compile builds a program as a release is built.
func compile(dir, path, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace", "-ldflags=-s -w -buildid=", "-o", path, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %q: %w\n%s", pkg, dir, err, out)
	}
	return nil
}

// environ returns the environment of engines: the environment of the caller without variables that would change the
// figures, and with the variables in more. report is the path of the file for the lines of provider processes.
func (b *bench) environ(report string, more []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "LETHE_") || strings.HasPrefix(name, "BENCH_") || strings.HasPrefix(name, "XDG_") {
			continue
		}
		env = append(env, kv)
	}
	return append(append(env,
		"TF_CLI_CONFIG_FILE="+b.settings, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "BENCH_REPORT="+report,
		"HOME="+filepath.Join(b.dir, "home"), "TMPDIR="+filepath.Join(b.dir, "tmp"),
	), more...)
}

// place is the directory in which one engine runs the commands of a row.
type place struct {
	b   *bench
	row row
	dir string
}

// place writes the configuration of a row into a new directory, and installs its modules with the engine. number is the
// number of the row.
func (b *bench) place(r row, of engine, number int) (*place, error) {
	p := &place{b: b, row: r, dir: filepath.Join(b.dir, "work", fmt.Sprintf("%d-%s", number, of.Name))}
	for path, text := range r.Shape(r.N) {
		path = filepath.Join(p.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if !hasModules(p.dir) {
		return p, nil
	}
	_, err := p.run(of, []string{"get", "-no-color"})
	return p, err
}

func hasModules(dir string) bool {
	main, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	return err == nil && bytes.Contains(main, []byte("\nmodule "))
}

const stateFile = "terraform.tfstate"

// prepare creates the state or the saved plan that the command of the row needs, with an engine. It does nothing if the
// command needs neither.
func (p *place) prepare(of engine) error {
	switch {
	case p.row.Op.stored():
		if _, err := p.run(of, apply.arguments()); err != nil {
			return err
		}
		return os.Rename(filepath.Join(p.dir, stateFile), filepath.Join(p.dir, "prepared"))
	case p.row.Op.planned():
		_, err := p.run(of, planFile.arguments())
		return err
	}
	return nil
}

// take links the prepared state of another place into this place, if the command of the row needs a state. It does not
// take a saved plan, because only the engine that made a plan can use it.
func (p *place) take(from *place) error {
	if !p.row.Op.stored() {
		return nil
	}
	return os.Link(filepath.Join(from.dir, "prepared"), filepath.Join(p.dir, "prepared"))
}

// measure runs the command of the row once, with the prepared state or without a state.
func (p *place) measure(of engine) (figures, error) {
	for _, name := range []string{stateFile, stateFile + ".backup"} {
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return figures{}, err
		}
	}
	if p.row.Op.stored() {
		prepared, err := os.ReadFile(filepath.Join(p.dir, "prepared"))
		if err != nil {
			return figures{}, err
		}
		if err := os.WriteFile(filepath.Join(p.dir, stateFile), prepared, 0o600); err != nil {
			return figures{}, err
		}
	}
	return p.run(of, p.row.Op.arguments())
}

// errSlow is the error of a command that took longer than -timeout.
var errSlow = errors.New("not finished in time")

// run runs one command through the meter (meter.go) and returns its figures. It returns errSlow at the time limit. The
// error of a failed command contains the end of its output.
func (p *place) run(of engine, arguments []string) (figures, error) {
	report, output := p.dir+".report", p.dir+".output"
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return figures{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	out, err := os.Create(output)
	if err != nil {
		return figures{}, err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), p.b.timeout)
	defer cancel()
	var read bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append([]string{of.Path}, arguments...)...)
	cmd.Dir, cmd.Env = p.dir, p.b.environ(report, append([]string{meterVariable + "=1"}, p.row.Env...))
	cmd.Stdout, cmd.Stderr = &read, out
	end(cmd)
	err = cmd.Run()
	if ctx.Err() != nil {
		return figures{}, errSlow
	}
	if err != nil {
		text, _ := os.ReadFile(output)
		return figures{}, fmt.Errorf("%s %s: %w\n%s", of.Name, strings.Join(arguments, " "), err, text[max(0, len(text)-2000):])
	}
	var f figures
	if err := json.Unmarshal(read.Bytes(), &f); err != nil {
		return figures{}, err
	}
	return f, f.add(report)
}

// add adds the lines that provider processes have written to a file. If the file does not exist, there is nothing to
// add.
func (f *figures) add(report string) error {
	file, err := os.Open(report)
	if errors.Is(err, os.ErrNotExist) {
		return nil // without a provider process nobody writes the file
	}
	if err != nil {
		return err
	}
	defer file.Close()
	f.Calls = map[string]int{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var one struct {
			Calls map[string]int `json:"calls"`
			CPU   float64        `json:"cpu"`
		}
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		f.Starts++
		f.Serve += one.CPU
		for method := range maps.Keys(one.Calls) {
			f.Calls[method] += one.Calls[method]
		}
	}
}
