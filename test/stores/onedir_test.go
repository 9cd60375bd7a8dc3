package stores

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shared is a working directory that several programs use in turn, and its expected state.
type shared struct {
	*testing.T
	r         *rand.Rand
	name      string
	place     place
	dir       string
	programs  []*directory      // one for each program, all with the same dir; the first is Lethe
	v         int               // the last value that was applied in any workspace
	workspace map[string]int    // the last applied value, keyed by workspace
	current   string            // the selected workspace
	lineage   map[string]string // keyed by workspace
	steps     []string          // the commands until now, for the message of a failed test
}

// encryptionOn is the value of TF_ENCRYPTION, with two verbs for the names of the method and of the fallback.
const encryptionOn = `key_provider "pbkdf2" "k" {
  passphrase = "correct horse battery staple"
  iterations = 200000
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.k
}
method "unencrypted" "none" {}
state {
  method = method.%s
  fallback {
    method = method.%s
  }
}
`

// TestOneDirectory lets the installed programs of Lethe, Terraform and OpenTofu take turns in one working directory
// with one .terraform. No program requires an init that another would not require, and each continues from the state of
// the others. LETHE_TURNS is the number of turns for each store, LETHE_TURN=STORE:SEED repeats a run.
func TestOneDirectory(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	paths := []string{ours, terraform}
	if tofu, err := exec.LookPath("tofu"); err == nil {
		if out, err := exec.Command(tofu, "version").Output(); err == nil && !strings.Contains(string(out), "Lethe") {
			paths = append(paths, tofu)
		}
	}
	turns, seed := 8, rand.Uint64()
	if os.Getenv("LETHE_LONG") != "" {
		turns = 60
	}
	if text := os.Getenv("LETHE_TURNS"); text != "" {
		turns, err = strconv.Atoi(text)
		check(t, err)
	}
	only, again, repeat := strings.Cut(os.Getenv("LETHE_TURN"), ":")
	if repeat {
		seed, err = strconv.ParseUint(again, 10, 64)
		check(t, err)
	}
	all := places(t)
	all["local"] = place{}
	for name, p := range all {
		if only != "" && name != only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shared{T: t, r: rand.New(rand.NewPCG(seed, 35)), name: name, place: p, dir: t.TempDir(), current: "default", workspace: map[string]int{}, lineage: map[string]string{}}
			defer func() {
				if t.Failed() {
					t.Logf("LETHE_TURN=%q, turns:\n  %s", fmt.Sprintf("%s:%d", name, seed), strings.Join(s.steps, "\n  "))
				}
			}()
			for _, program := range paths {
				s.programs = append(s.programs, &directory{t, program, s.dir, append(os.Environ(), append([]string{"TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_IN_AUTOMATION=1"}, p.env...)...)})
			}
			s.write(p.backend)
			s.begins()
			for range turns {
				s.turn()
			}
		})
	}
}

// any returns a program at random.
func (s *shared) any() *directory { return one(s.r, s.programs...) }

// note adds a step of a program to the list of steps, and returns the program.
func (s *shared) note(u *directory, format string, a ...any) *directory {
	s.steps = append(s.steps, filepath.Base(u.program)+" "+fmt.Sprintf(format, a...))
	return u
}

// write replaces the configuration by config with a backend block.
func (s *shared) write(backend string) {
	check(s.T, os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(config+backend), 0o600))
}

// begins lets any program create the state, and checks that all programs agree.
func (s *shared) begins() {
	u := s.note(s.any(), "init and apply")
	u.run(0, "init")
	s.applies(u)
	s.agree()
}

// applies runs apply with a new value of the variable v in the current workspace. u is the directory with the program
// to use.
func (s *shared) applies(u *directory) {
	s.v++
	u.run(0, "apply", "-auto-approve", "-var", fmt.Sprint("v=", s.v))
	s.workspace[s.current] = s.v
}

// agree checks that, without an init, every program finds the current workspace with its last value and its lineage.
func (s *shared) agree() {
	s.Helper()
	for _, u := range s.programs {
		u.run(0, "plan", "-detailed-exitcode", "-var", fmt.Sprint("v=", s.workspace[s.current]))
		lineage := u.stored().Lineage
		if was := s.lineage[s.current]; was != "" && was != lineage {
			s.Errorf("the lineage was %s, and is %s", was, lineage)
		}
		s.lineage[s.current] = lineage
		if s.name != "cloud" {
			if now := strings.TrimSpace(u.run(0, "workspace", "show")); now != s.current {
				s.Errorf("%s has workspace %s, not %s", u.program, now, s.current)
			}
		}
	}
}

// turn lets random programs do a random operation, and checks that all programs agree. Operations that the store does
// not support do nothing.
func (s *shared) turn() {
	many := !slices.Contains(single, s.name)
	u, other := s.any(), s.any()
	switch s.r.IntN(11) {
	case 0:
		s.note(u, "init").run(0, "init")
	case 1:
		s.applies(s.note(u, "apply"))
	case 2:
		s.v++
		s.note(u, "plan -out, apply").run(0, "plan", "-out=p", "-var", fmt.Sprint("v=", s.v))
		u.run(0, "apply", "p")
		s.workspace[s.current] = s.v
	case 3:
		s.note(u, "state mv").run(0, "state", "mv", "terraform_data.a", "terraform_data.b")
		s.note(other, "state mv back").run(0, "state", "mv", "terraform_data.b", "terraform_data.a")
	case 4:
		file := filepath.Join(s.dir, "pulled")
		check(s.T, os.WriteFile(file, []byte(s.note(u, "state pull").run(0, "state", "pull")), 0o600))
		s.note(other, "state push").run(0, "state", "push", file)
	case 5, 6:
		if !many {
			return
		}
		if name := fmt.Sprintf("w%d", s.r.IntN(2)); s.current != "default" {
			s.note(u, "workspace select default").run(0, "workspace", "select", "default")
			s.current = "default"
		} else if _, there := s.workspace[name]; there {
			s.note(u, "workspace select %s", name).run(0, "workspace", "select", name)
			s.current = name
		} else {
			s.note(u, "workspace new %s", name).run(0, "workspace", "new", name)
			s.current = name
			s.applies(s.note(other, "apply"))
		}
	case 7:
		s.unlocks(u, other)
	case 8:
		s.encrypts()
	case 9:
		s.moves(u, other)
	case 10:
		s.partial(u)
	}
	s.agree()
}

// unlocks kills the program u while it holds the lock, and lets the second program (other) break the lock. It does
// nothing on a store where the second program cannot break the lock.
func (s *shared) unlocks(u, other *directory) {
	l := s.programs[0]
	if s.name == "http" && other != l || s.name == "local" || s.name == "cloud" || s.name == "remote" {
		return
	}
	if s.name == "consul" && s.current != "default" {
		other = l // l, because Terraform tries to lock the state before it breaks a lock
	}
	cmd, done := s.note(u, "apply, killed").holding("of the killed")
	check(s.T, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	out := l.run2("plan", "-no-color", "-var", "v=x")
	if _, id, locked := strings.Cut(out, "  ID: "); locked {
		if _, foreign, has := strings.Cut(out, "Terraform and OpenTofu the ID is "); has && other != l {
			id = foreign
		}
		id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
		s.note(other, "force-unlock").run(0, "force-unlock", "-force", strings.TrimSpace(id))
	}
	third := s.note(s.any(), "apply after it")
	for n := 0; n < 60; n++ { // repeat, because Consul delays the lock, and the keeper of the killed run may still write
		if out = third.run2("plan", "-var", "v=x"); !strings.Contains(out, "Error acquiring the state lock") {
			break
		}
		time.Sleep(500 * time.Millisecond) // a pause, because each attempt is a command
	}
	s.applies(third)
}

// encrypts lets Lethe encrypt and decrypt the state. Meanwhile, another program tries to plan; its result is ignored.
func (s *shared) encrypts() {
	l := s.programs[0]
	with := *l
	with.env = append(slices.Clip(l.env), "TF_ENCRYPTION="+fmt.Sprintf(encryptionOn, "aes_gcm.m", "unencrypted.none"))
	s.applies(s.note(&with, "apply, encrypted"))
	if s.programs[1].run2("plan", "-detailed-exitcode", "-var", fmt.Sprint("v=", s.v)); strings.Contains(with.run(0, "state", "list"), "terraform_data.a") {
		without := *l
		without.env = append(slices.Clip(l.env), "TF_ENCRYPTION="+fmt.Sprintf(encryptionOn, "unencrypted.none", "aes_gcm.m"))
		s.applies(s.note(&without, "apply, decrypted"))
	}
}

// moves migrates all states to local files with the program of u, and back with the program of other. It does nothing
// if the store has one workspace.
func (s *shared) moves(u, other *directory) {
	if slices.Contains(single, s.name) {
		return
	}
	s.write("terraform {\n  backend \"local\" {\n    path = \"moved.tfstate\"\n    workspace_dir = \"moved\"\n  }\n}\n")
	s.note(u, "init -migrate-state to files").run(0, "init", "-migrate-state", "-force-copy")
	s.agree()
	s.applies(s.note(s.any(), "apply"))
	s.agree()
	s.write(s.place.backend)
	s.note(other, "init -migrate-state back").run(0, "init", "-migrate-state", "-force-copy")
}

// setting1 matches a line of a backend block with a setting that init also accepts on the command line. The groups are
// its name and value.
var setting1 = regexp.MustCompile(`(?m)^    (key|path|prefix|secret_suffix|username) = "([^"]*)"\n`)

// partial moves one setting from the backend block to the command line of init, and back. It does nothing if the block
// has no such setting.
func (s *shared) partial(u *directory) {
	m := setting1.FindStringSubmatch(s.place.backend)
	if m == nil || s.name == "cloud" || s.name == "remote" {
		return
	}
	s.write(strings.Replace(s.place.backend, m[0], "", 1))
	s.note(u, "init -reconfigure -backend-config=%s", m[1]).run(0, "init", "-reconfigure", "-backend-config="+m[1]+"="+m[2])
	s.agree()
	s.applies(s.note(s.any(), "apply"))
	s.agree()
	s.note(s.any(), "init -backend-config=%s", m[1]).run(0, "init", "-backend-config="+m[1]+"="+m[2])
	s.agree()
	s.write(s.place.backend)
	s.note(s.any(), "init -reconfigure").run(0, "init", "-reconfigure")
}
