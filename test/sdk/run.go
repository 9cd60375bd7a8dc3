package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/test/sdk/provider"
)

// A Lab has the programs that batches are run with.
type Lab struct {
	Lethe, Terraform string
	Plugins          string // the directory with the programs of both providers
	Dir              string // the directory in which the tests write everything

	commands, failed atomic.Int64 // the numbers of plans and applies by Terraform: all commands, and the failed commands
}

// A side is one engine with a separate directory, cloud and log.
type side struct {
	name, program string
	dir           string // the directory of the configuration
	cloud, log    string
	env           []string
}

// A Result is the result of one command. Out is its output and errors, but only its output for show.
type Result struct {
	Args    string
	Exit    int
	Out     string
	Plan    obj // the plan as decoded JSON; nil without a plan
	Calls   []provider.Call
	Blamed  map[string]string // titles of errors, by the address that the error names
	Err     error             // the reason why the command could not be run
	Elapsed time.Duration
}

// An Outcome is the result of a step.
type Outcome struct {
	Before              []*Result // results of the commands before the step, such as taint
	Plan, Apply, Second *Result   // nil for a command that was not run
	State               obj
}

func (l *Lab) side(name, program, dir string) (*side, error) {
	s := &side{name: name, program: program, dir: filepath.Join(dir, name), cloud: filepath.Join(dir, name+".cloud"), log: filepath.Join(dir, name+".log")}
	for _, d := range []string{s.dir, s.cloud} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	s.env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "CHECKPOINT_DISABLE=1", "GOGC=off",
		"TF_CLI_CONFIG_FILE=" + l.rc(), provider.EnvCloud + "=" + s.cloud, provider.EnvLog + "=" + s.log}
	return s, nil
}

func (l *Lab) rc() string { return filepath.Join(l.Dir, "rc") }

// prepare writes the CLI configuration that names the providers.
func (l *Lab) prepare() error {
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"example.com/sdk/old\" = %q\n    \"example.com/sdk/fw\"  = %q\n  }\n}\n", l.Plugins, l.Plugins)
	return os.WriteFile(l.rc(), []byte(text), 0o600)
}

// step runs step n of a batch and returns the results. A failed command is no error.
func (s *side) step(b *Batch, n int) (*Outcome, error) {
	o := &Outcome{}
	if err := s.arrange(b, n, false); err != nil {
		return nil, err
	}
	for name, text := range b.files(n) {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(s.ids(text)), 0o600); err != nil {
			return nil, err
		}
	}
	run := func(args ...string) *Result { return s.run(b.Steps[n], args) }
	for _, p := range b.Pieces {
		for _, args := range p.Steps[n].Before {
			args = slices.Clone(args)
			for i := range args {
				args[i] = s.ids(args[i])
			}
			r := run(args...)
			if r.Err != nil {
				return nil, r.Err
			}
			o.Before = append(o.Before, r)
		}
	}
	options := append([]string{"-input=false", "-no-color", "-parallelism=4"}, b.options(n)...)
	if b.Steps[n].Direct {
		o.Apply = run(append([]string{"apply", "-auto-approve"}, options...)...)
	} else {
		o.Plan = run(append([]string{"plan", "-detailed-exitcode", "-out=p"}, options...)...)
		if o.Plan.Exit != 1 {
			s.show(b.Steps[n], o.Plan, "p")
			if err := s.arrange(b, n, true); err != nil {
				return nil, err
			}
			o.Apply = run("apply", "-input=false", "-no-color", "-parallelism=4", "p")
		}
	}
	var err error
	if o.State, err = s.state(); err != nil {
		return nil, err
	}
	if err := s.calm(b); err != nil {
		return nil, err
	}
	if c := b.Steps[n]; o.Apply != nil && !c.Destroy && !c.RefreshOnly {
		o.Second = run("plan", "-detailed-exitcode", "-input=false", "-no-color", "-out=p2")
		if o.Second.Exit == 2 {
			s.show(b.Steps[n], o.Second, "p2")
		}
	}
	for _, r := range []*Result{o.Plan, o.Apply, o.Second} {
		if r != nil && r.Err != nil {
			return nil, r.Err
		}
	}
	return o, nil
}

// arrange makes the faults and the drift of step n: those before its plan, or if late is true those before its apply.
func (s *side) arrange(b *Batch, n int, late bool) error {
	for _, p := range b.Pieces {
		st := p.Steps[n]
		if st.Late != late {
			continue
		}
		if st.Faults != "" {
			if err := os.WriteFile(filepath.Join(s.cloud, p.Name+".fault"), []byte(st.Faults), 0o600); err != nil {
				return err
			}
		}
		if !st.Gone && len(st.Drift) == 0 {
			continue
		}
		last := s.last(p.Name)
		if last == "" {
			continue
		}
		var err error
		if st.Gone {
			err = os.Remove(last)
		} else {
			err = edit(last, st.Drift)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last returns the file of the last object of a piece, or "".
func (s *side) last(name string) string {
	found, err := filepath.Glob(filepath.Join(s.cloud, name+"-*.json"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return number(a) - number(b) })
}

var lastID = regexp.MustCompile(`(a[0-9]+)@`)

// ids replaces NAME@ by the ID of the last object of that name, or by NAME-1 if the cloud has no object of the name.
func (s *side) ids(text string) string {
	return lastID.ReplaceAllStringFunc(text, func(m string) string {
		name := strings.TrimSuffix(m, "@")
		if file := s.last(name); file != "" {
			return strings.TrimSuffix(filepath.Base(file), ".json")
		}
		return name + "-1"
	})
}

// number returns the number in the file name of an object.
func number(file string) int {
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return n
}

// edit changes attributes of the object in a file. It leaves out attributes that an object of the framework does not
// have.
func edit(file string, drift map[string]any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	o := &provider.Object{}
	if err := json.Unmarshal(data, o); err != nil {
		return err
	}
	for k, v := range drift {
		if _, ok := o.Attrs[k]; ok || strings.HasPrefix(o.Type, "old_") {
			o.Attrs[k] = v
		}
	}
	if data, err = json.MarshalIndent(o, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// calm ends the faults of all pieces.
func (s *side) calm(b *Batch) error {
	for _, p := range b.Pieces {
		if err := os.Remove(filepath.Join(s.cloud, p.Name+".fault")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// show sets the plan of a result to the plan in a file. An error becomes the error of the result.
func (s *side) show(c Command, r *Result, file string) {
	shown := s.run(c, []string{"show", "-json", file})
	if shown.Err != nil {
		r.Err = shown.Err
		return
	}
	if err := decode([]byte(shown.Out), &r.Plan); err != nil {
		r.Err = fmt.Errorf("%s show: %w: %s", s.name, err, shown.Out)
	}
}

// once is the time limit of a command. The slowest machine needs a fraction of it.
const once = 3 * time.Minute

func (s *side) run(c Command, args []string) *Result {
	ctx, cancel := context.WithTimeout(context.Background(), once)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(slices.Clone(s.env), provider.EnvSchema+"="+strconv.Itoa(c.Schema))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	r := &Result{Args: strings.Join(args, " "), Blamed: map[string]string{}}
	start := time.Now()
	err := cmd.Run()
	r.Elapsed = time.Since(start)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && ctx.Err() == nil:
		r.Exit = exit.ExitCode()
	case err != nil:
		r.Err = fmt.Errorf("%s %v: %w", s.name, args, err)
	}
	r.Out = out.String()
	if args[0] != "show" {
		r.Out += complaints.String()
	}
	if i := strings.Index(r.Out, "panic:"); i >= 0 && r.Err == nil {
		r.Err = fmt.Errorf("%s %v: a provider crashed: %s", s.name, args, r.Out[i:min(len(r.Out), i+1500)])
	}
	for _, m := range blame.FindAllStringSubmatch(r.Out, -1) {
		r.Blamed[m[2]] = m[1]
	}
	for _, m := range blameWithin.FindAllStringSubmatch(r.Out, -1) {
		r.Blamed[m[2]] = m[1]
	}
	if r.Err == nil {
		r.Calls, r.Err = s.calls()
	}
	return r
}

// blame finds the objects that errors name.
var blame = regexp.MustCompile(`Error: ([^\n]*)\n(?:[│ ]*\n)?[│ ]*with ([\w.\-\[\]"]+)`)

// blameWithin finds the objects that errors name in their text.
var blameWithin = regexp.MustCompile(`Error: (Provider produced[^\n]*)\n(?:[│ ]*\n)?[│ ]*(?:When expanding the plan for|When applying changes to|Provider "[^"]*"\s+planned an invalid\s+value for) ([\w.\-\[\]"]+)`)

// calls returns the calls in the log and removes the log.
func (s *side) calls() ([]provider.Call, error) {
	data, err := os.ReadFile(s.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []provider.Call
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var c provider.Call
		if err := d.Decode(&c); err == io.EOF {
			return all, os.Remove(s.log)
		} else if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
}

// state returns the state, or an empty object if there is no state file.
func (s *side) state() (obj, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) {
		return obj{}, nil
	}
	var o obj
	if err == nil {
		err = decode(data, &o)
	}
	return o, err
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// decode decodes JSON with all UUIDs replaced by one word, so that the IDs of terraform_data are equal. Numbers keep
// their text.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(uuid.ReplaceAll(data, []byte("UUID"))))
	d.UseNumber()
	return d.Decode(into)
}

// Play runs a batch with both engines in a directory, and returns the differences that no rule explains, at most the
// first for each piece. It ends after a step in which exit codes differ. An error means that a command could not be
// run.
func (l *Lab) Play(b *Batch, dir string) ([]Difference, error) {
	x, err := l.side("lethe", l.Lethe, dir)
	if err != nil {
		return nil, err
	}
	y, err := l.side("terraform", l.Terraform, dir)
	if err != nil {
		return nil, err
	}
	var found []Difference
	seen := map[string]bool{}
	for n := range b.Steps {
		p, err := x.step(b, n)
		if err != nil {
			return found, err
		}
		q, err := y.step(b, n)
		if err != nil {
			return found, err
		}
		for _, r := range []*Result{q.Plan, q.Apply} {
			if r != nil {
				if l.commands.Add(1); r.Exit == 1 {
					l.failed.Add(1)
					if os.Getenv("SDK_VERBOSE") != "" {
						fmt.Printf("seed %d step %d: %v\n", b.Seed, n, r.Blamed)
					}
				}
			}
		}
		end := false
		for _, d := range compare(b.Steps[n], p, q) {
			d.Step = n
			end = end || d.Section == "exit" && d.What != "before"
			if d.known(b) {
				if d.What == "before" && d.Section == "exit" {
					seen[owner(d.At)] = true
				}
				continue
			}
			if name := owner(d.At); !seen[name] {
				seen[name] = true
				found = append(found, d)
			}
		}
		if end || len(seen) == len(b.Pieces) {
			return found, nil // the states of the engines may differ now, so later steps are not compared
		}
	}
	return found, nil
}
