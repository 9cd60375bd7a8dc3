package combine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/test/combine/box"
	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// A Lab holds the programs and directories for scenarios.
type Lab struct {
	Lethe     string         // the path of the program that is judged
	Terraform string         // the path of the program for comparison; "": no comparison
	Provider  string         // directory of the provider's program
	Dir       string         // the directory for all files of the scenarios
	Ignore    *regexp.Regexp // matches the classes of known findings; nil: no findings are known
}

// A side is one program with a separate directory and cloud.
type side struct {
	lab      *Lab
	name     string // "lethe", "terraform" or "twin" (a second Lethe)
	program  string
	dir      string
	cloud    *cloud.Cloud
	attached *box.Attached
	names    *names
	applied  *Module         // the configuration that was last applied
	foreign  map[string]bool // IDs of objects that the engine does not manage
	env      []string
	running  *exec.Cmd
	unable   error // the reason why the program could not be run, so that nothing is judged
}

// An Invocation is one command that was run.
type Invocation struct {
	Args   []string
	Exit   int
	Out    string // both streams of the output; for show only the standard output
	Errors []string
	Calls  []cloud.Call
	Slow   bool
	Killed string // the kind of fault that killed the command; "": it was not killed
}

// An Outcome is the result of one step on one side.
type Outcome struct {
	Invocations []*Invocation
	Operations  []*Invocation // the commands that changed the state before the plan
	Plan        *Invocation   // the plan of the step; nil if the step has no plan
	PlanJSON    map[string]any
	Apply       *Invocation
	Second      *Invocation // the plan after a successful apply of all changes; nil if the step has no such plan
	SecondJSON  map[string]any
	Before      *State
	After       *State
	Objects     []*cloud.Object
	Leases      []string // the IDs of leases that were open at the end
	Deeds       []string // changes of the cloud, as shell commands
	Lost        *Outcome // the outcome of the same commands when a fault killed them before; nil if they were not killed
}

// through reports whether no plan and no apply of a step failed.
func (o *Outcome) through() bool {
	return (o.Plan == nil || o.Plan.Exit != 1) && (o.Apply == nil || o.Apply.Exit == 0)
}

// rounds reports whether the apply of a saved plan left changes to later rounds.
func (o *Outcome) rounds() bool { return o.Apply != nil && o.Apply.Exit == 2 }

// side returns a new side with empty directories, and starts its provider. The caller must close it.
func (l *Lab) side(name, program string) (*side, error) {
	dir := filepath.Join(l.Dir, name)
	for _, d := range []string{dir, filepath.Join(dir, "cloud"), filepath.Join(dir, "work")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	x := &side{lab: l, name: name, program: program, dir: filepath.Join(dir, "work"), names: newNames(), applied: &Module{}, foreign: map[string]bool{}}
	x.cloud = &cloud.Cloud{Dir: filepath.Join(dir, "cloud"), Interrupt: func() {
		if x.running != nil {
			_ = x.running.Process.Signal(os.Interrupt)
			time.Sleep(60 * time.Millisecond) // wait until the engine has noticed the fault
		}
	}, Kill: func(both bool) {
		if x.running != nil {
			cloud.KillEngine(x.running.Process.Pid, both)
		}
	}}
	var err error
	if x.attached, err = box.Attach(x.cloud, filepath.Join(dir, "s")); err != nil {
		return nil, err
	}
	rc := filepath.Join(dir, "rc")
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"registry.terraform.io/%s\" = %q\n    \"registry.opentofu.org/%[1]s\" = %[2]q\n  }\n}\n", box.Address, l.Provider)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		return nil, err
	}
	x.env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "GOGC=off", cloud.Env + "=" + x.cloud.Dir}
	return x, nil
}

func (x *side) close() {
	x.attached.Close()
}

// step runs one step and returns its outcome. If a command is killed, step recovers as a user does and runs the
// commands again; the outcome of the killed commands is in Lost. A failed command is no error.
func (x *side) step(st *Step) (*Outcome, error) {
	o := &Outcome{}
	if err := x.write(st.Config); err != nil {
		return nil, err
	}
	for _, d := range st.Drifts {
		deed, err := x.drift(o, st, d)
		if err != nil {
			return nil, err
		}
		o.Deeds = append(o.Deeds, deed)
	}
	if err := x.cloud.Arrange(st.Faults); err != nil {
		return nil, err
	}
	var err error
	if o.Before, err = x.state(); err != nil {
		return nil, err
	}
	program := x.program
	if st.Do.Peer && x.lab.Terraform != "" {
		x.program = x.lab.Terraform
	}
	x.commands(st, o)
	if last := o.Invocations[len(o.Invocations)-1]; last.Killed != "" {
		lost := o
		if err := x.settle(st, lost, last); err != nil {
			return nil, err
		}
		o = &Outcome{Lost: lost, Before: lost.After, Deeds: lost.Deeds}
		x.commands(st, o) // the user runs the commands once more
	}
	x.program = program
	if err := x.cloud.Arrange(nil); err != nil {
		return nil, err
	}
	if o.After, err = x.state(); err != nil {
		return nil, err
	}
	x.names.learn(o.After)
	if x.name != twin && st.Do.full() && o.Apply != nil && o.Apply.Exit == 0 {
		o.Second = x.run(o, st, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=p2")
		if o.Second.Exit == 2 {
			o.SecondJSON = x.show(o, st, "p2")
		}
	}
	if x.unable != nil {
		return nil, x.unable
	}
	err = x.look(o)
	return o, err
}

// look records the objects and the open leases in o. It closes the leases, so that each is found once.
func (x *side) look(o *Outcome) (err error) {
	o.Leases = x.cloud.Leases()
	for _, l := range o.Leases {
		_ = x.cloud.Close(l)
	}
	o.Objects, err = x.cloud.Objects()
	return err
}

// settle does the work of a user after a command was killed: it recovers the known changes. Calls of the provider and
// the keeper have ended then, and count as calls of the command.
func (x *side) settle(st *Step, o *Outcome, killed *Invocation) (err error) {
	time.Sleep(20 * time.Millisecond) // wait, because a provider without engine and keeper may still work
	repair := x.run(o, st, "state", "repair", "-auto-approve", "-no-color")
	killed.Calls = append(killed.Calls, repair.Calls...)
	x.run(o, st, "state", "check", "-no-color")
	if o.After, err = x.state(); err != nil {
		return err
	}
	x.names.learn(o.After)
	if err := x.look(o); err != nil {
		return err
	}
	if len(o.Leases) > 0 {
		x.run(o, st, "leases", "close", "-auto-approve", "-no-color")
	}
	return nil
}

// commands runs the commands of a step: a direct apply, or a plan, show, and the apply of the plan. After a failed plan
// it runs nothing more.
func (x *side) commands(st *Step, o *Outcome) {
	options := append([]string{"-input=false", "-no-color"}, st.Do.options()...)
	if st.Do.Direct && st.Do.Apply {
		o.Apply = x.run(o, st, append([]string{"apply", "-auto-approve"}, options...)...)
		return
	}
	o.Plan = x.run(o, st, append([]string{"plan", "-detailed-exitcode", "-out=p"}, options...)...)
	if o.Plan.Exit != 0 && o.Plan.Exit != 2 {
		return
	}
	if x.name != twin {
		o.PlanJSON = x.show(o, st, "p")
	}
	if st.Do.Apply {
		o.Apply = x.run(o, st, "apply", "-input=false", "-no-color", "p")
	}
}

// show returns a plan file as a document. If the output is not JSON, it adds an error to the invocation.
func (x *side) show(o *Outcome, st *Step, file string) map[string]any {
	shown := x.run(o, st, "show", "-json", file)
	var doc map[string]any
	if err := json.Unmarshal([]byte(shown.Out), &doc); err != nil {
		shown.Errors = append(shown.Errors, "show: "+err.Error())
	}
	return doc
}

// options returns the options of the command that affect the plan, sorted.
func (c Command) options() []string {
	var list []string
	if c.Destroy {
		list = append(list, "-destroy")
	}
	switch c.Refresh {
	case "only":
		list = append(list, "-refresh-only")
	case "false":
		list = append(list, "-refresh=false")
	}
	for flag, all := range map[string][]string{"-target=": c.Target, "-exclude=": c.Exclude, "-replace=": c.Replace} {
		for _, a := range all {
			list = append(list, flag+a)
		}
	}
	slices.Sort(list)
	return list
}

// run runs a command. On a busy machine Terraform sometimes does not reach a running provider; then run repeats it.
func (x *side) run(o *Outcome, st *Step, args ...string) *Invocation {
	i := x.once(st, args)
	if strings.HasSuffix(x.program, "terraform") && slices.Contains(i.Errors, "Failed to load plugin schemas") {
		i = x.once(st, args)
	}
	if o != nil {
		o.Invocations = append(o.Invocations, i)
	}
	return i
}

// once runs a command with a time limit of a minute, and returns its result with the calls that the provider has
// logged. If the command cannot be run, it sets x.unable.
func (x *side) once(st *Step, args []string) *Invocation {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, x.program, args...)
	cmd.Dir = x.dir
	cmd.Env = append(slices.Clone(x.env), environ(st)...)
	if st.Do.Process {
		cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(x.dir, "..", "rc"))
	} else {
		cmd.Env = append(cmd.Env, "TF_REATTACH_PROVIDERS="+x.attached.Environ(strings.HasSuffix(x.program, "terraform")))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	i := &Invocation{Args: args}
	err := cmd.Start()
	if err == nil {
		x.running = cmd
		err = cmd.Wait()
		x.running = nil
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		i.Exit = exit.ExitCode()
	case err != nil:
		x.unable = err
	}
	i.Slow = ctx.Err() != nil
	i.Out = out.String()
	if args[0] != "show" {
		i.Out += complaints.String()
	}
	i.Errors = append(i.Errors, titles(i.Out)...)
	i.Calls, err = x.cloud.Calls()
	if err != nil {
		i.Errors = append(i.Errors, err.Error())
	}
	for _, c := range i.Calls {
		if c.Call == cloud.Kill || c.Call == cloud.KillBoth {
			i.Killed = c.Call
		}
	}
	return i
}

// environ returns environment variables with the values of the ephemeral root variables, because no file may contain
// these values.
func environ(st *Step) []string {
	var env []string
	for _, b := range st.Config.Blocks {
		if b.Kind == Variable && b.arg("ephemeral") != nil {
			env = append(env, "TF_VAR_"+b.Name+"="+box.Canary+"-"+b.Name)
		}
	}
	return env
}

// titles returns the titles of errors in the output of a program.
func titles(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		line = strings.TrimLeft(line, "│╷ ")
		if t, ok := strings.CutPrefix(strings.TrimSpace(line), "Error: "); ok {
			all = append(all, t)
		}
	}
	return all
}

// write replaces the configuration in the directory, and installs its modules if Terraform runs in the scenario or the
// side is not "lethe".
func (x *side) write(config *Module) error {
	old, _ := filepath.Glob(filepath.Join(x.dir, "*"))
	for _, f := range old {
		base := filepath.Base(f)
		if strings.HasPrefix(base, "mod") || strings.HasSuffix(base, ".tf") || strings.HasSuffix(base, ".tf.json") || base == note || strings.HasSuffix(base, ".tfvars") {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	for name, text := range config.files() {
		f := filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if x.name == "lethe" && x.lab.Terraform == "" {
		return nil
	}
	return config.install(x.dir)
}

// install writes the files that `init` writes for modules, because `init` takes as long as a plan.
func (m *Module) install(dir string) error {
	type entry struct{ Key, Source, Dir string }
	list := []entry{{"", "", "."}}
	var walk func(m *Module, key, at string)
	walk = func(m *Module, key, at string) {
		for _, b := range m.Blocks {
			if b.Kind == Call {
				k, d := strings.TrimPrefix(key+"."+b.Name, "."), filepath.Join(at, b.dir())
				list = append(list, entry{k, "./" + b.dir(), d})
				walk(b.Module, k, d)
			}
		}
	}
	walk(m, "", "")
	text, err := json.Marshal(map[string]any{"Modules": list})
	if err != nil {
		return err
	}
	d := filepath.Join(dir, ".terraform", "modules")
	if err := os.MkdirAll(d, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d, "modules.json"), text, 0o600)
}

// seeded returns an object for import, which is named by its ID.
func seeded(id string) *cloud.Object {
	o := &cloud.Object{ID: id, Attributes: map[string]json.RawMessage{}}
	for name, v := range map[string]string{"id": id, "name": id, "note": "found", "etag": "e0"} {
		o.Attributes[name] = json.RawMessage(strconv.Quote(v))
	}
	o.Attributes["size"] = json.RawMessage("1")
	return o
}

// drift changes the cloud or the state, and returns the change as a shell command, or "" if there was nothing to
// change.
func (x *side) drift(out *Outcome, st *Step, d Drift) (string, error) {
	switch d.Do {
	case "taint", "untaint", "mv", "rm", "import":
		return x.operate(out, st, d)
	}
	all, err := x.cloud.Objects()
	if err != nil {
		return "", err
	}
	if d.Do == "seed" {
		x.foreign[d.ID] = true
		o := seeded(d.ID)
		return "cp seed/" + d.ID + ".json .cloud/", x.cloud.Put(o)
	}
	if len(all) == 0 {
		return "", nil
	}
	o := all[d.Object%len(all)]
	if d.Do == "delete" {
		return "rm .cloud/" + o.ID + ".json", os.Remove(filepath.Join(x.cloud.Dir, o.ID+".json"))
	}
	o.Attributes["content"] = json.RawMessage(`"drifted"`)
	return `sed -i 's/"content": .*/"content": "drifted",/' .cloud/` + o.ID + ".json", x.cloud.Put(o)
}

// operate changes the state with a state command, and returns the command for a shell. Objects that leave the state are
// no longer managed. It returns "" if the state has no object for the command or the command fails.
func (x *side) operate(o *Outcome, st *Step, d Drift) (string, error) {
	s, err := x.state()
	if err != nil {
		return "", err
	}
	at := s.choose(d.Object)
	args := map[string][]string{
		"mv": {"state", "mv", at, elsewhere.ReplaceAllString(at, "${1}m$2")}, "rm": {"state", "rm", at}, "taint": {"taint", at}, "untaint": {"untaint", at},
		"import": {"import", "-input=false", "-no-color", d.To, d.ID},
	}[d.Do]
	if at == "" && d.To == "" {
		return "", nil
	}
	i := x.run(o, st, args...)
	o.Operations = append(o.Operations, i)
	if i.Exit != 0 {
		return "", nil // the command does not apply to the object
	}
	now, err := x.state()
	for id := range s.ids() {
		if d.Do == "rm" && now.ids()[id] == "" {
			x.foreign[id] = true
		}
	}
	return "lethe '" + strings.Join(args, "' '") + "'", err
}

// elsewhere matches the name in an address, to derive an undeclared address with one more letter.
var elsewhere = regexp.MustCompile(`(\w)(\[[^\[\]]*\])?$`)
