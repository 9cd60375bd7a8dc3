package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// transferCanary is in a sensitive value of the moved objects.
const transferCanary = "canary-57ab-moved"

const keptObject = `
resource "terraform_data" "kept" {
  input = "kept"
}
`

// movedObjects declares the objects of a transfer.
const movedObjects = `
variable "secret" {
  sensitive = true
  default   = "` + transferCanary + `"
}
resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = each.key
}
resource "terraform_data" "b" {
  input = [terraform_data.a["x"].id, var.secret]
}
`

// stateEncryption is a configuration that encrypts states with a key from an external program, which is faster than a
// passphrase.
const stateEncryption = `
terraform {
  encryption {
    key_provider "external" "k" {
      command = ["sh", "-c", <<-EOT
        echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
        cat >/dev/null
        echo '{"keys":{"encryption_key":"%[1]s","decryption_key":"%[1]s"},"meta":{"external_data":{}}}'
      EOT
      ]
    }
    method "aes_gcm" "m" {
      keys = key_provider.external.k
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
`

// transferPair is a source and a target of a transfer. Both configurations have been applied. encrypted says whether
// the state of the source and the state of the target are encrypted, in this order.
type transferPair struct {
	source, target *site
	encrypted      [2]bool
	ids            []string // the IDs of the objects to move
}

// transferArgs returns the arguments of the command that moves all objects of movedObjects.
func (p *transferPair) transferArgs() []string {
	return []string{"state", "transfer", "-auto-approve", "-to=" + p.target.dir, "terraform_data.a", "terraform_data.b"}
}

func newTransferPair(t *testing.T, encrypted [2]bool) *transferPair {
	t.Helper()
	var extra [2]string
	for i, is := range encrypted {
		if is {
			extra[i] = fmt.Sprintf(stateEncryption, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(i + 1)}, 32)))
		}
	}
	p := &transferPair{source: newSite(t, movedObjects+keptObject+extra[0]), target: newSite(t, keptObject+extra[1]), encrypted: encrypted}
	p.source.must("apply", "-auto-approve")
	p.target.must("apply", "-auto-approve")
	for id, name := range p.objects(p.source) {
		if name != "kept<nil>" {
			p.ids = append(p.ids, id)
		}
	}
	p.source.write("main.tf", keptObject+extra[0])
	p.target.write("main.tf", movedObjects+keptObject+extra[1])
	return p
}

func (p *transferPair) copyOf(t *testing.T) *transferPair {
	t.Helper()
	return &transferPair{source: p.source.copyOf(t), target: p.target.copyOf(t), encrypted: p.encrypted, ids: p.ids}
}

// objects returns the names and keys of the objects in the state that "state pull" prints in the directory s, by the ID
// of the object.
func (p *transferPair) objects(s *site) map[string]string {
	s.Helper()
	var doc struct {
		Resources []struct {
			Name      string
			Instances []struct {
				Key        any `json:"index_key"`
				Attributes struct{ ID string }
			}
		}
	}
	text := s.must("state", "pull")
	if err := json.Unmarshal([]byte(text[:strings.LastIndex(text, "}")+1]), &doc); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
	out := map[string]string{}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			out[i.Attributes.ID] = fmt.Sprint(r.Name, i.Key)
		}
	}
	return out
}

// once fails the test unless each object to move is in exactly one of the two states.
func (p *transferPair) once(when string) {
	p.source.Helper()
	source, target := p.objects(p.source), p.objects(p.target)
	for _, id := range p.ids {
		_, here := source[id]
		_, there := target[id]
		if here == there {
			p.source.Errorf("%s: the source has %v, the target has %v, and %s is in both or in none", when, source, target, id)
		}
	}
}

// clear returns the files with a state that contain the sensitive value of a moved object as plain text although the
// state in their directory is encrypted, and the records of transfers that contain this value.
func (p *transferPair) clear() (out []string) {
	for i, s := range []*site{p.source, p.target} {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range entries {
			if text := s.readFile(e); p.encrypted[i] && strings.HasPrefix(e.Name(), "terraform") && strings.Contains(text, transferCanary) || strings.HasSuffix(e.Name(), ".transfer") && strings.Contains(text, transferCanary) {
				out = append(out, filepath.Join(s.dir, e.Name()))
			}
		}
	}
	return out
}

func (s *site) readFile(e os.DirEntry) string {
	if e.IsDir() {
		return ""
	}
	return s.read(e.Name())
}

// records returns the files that record a transfer in progress.
func (p *transferPair) records() (out []string) {
	for _, s := range []*site{p.source, p.target} {
		found, _ := filepath.Glob(filepath.Join(s.dir, "*.transfer"))
		out = append(out, found...)
	}
	return out
}

// nextCommands are the commands that a test can run after an interrupted transfer. A command with target runs in the
// directory of the target, and any other in the directory of the source. A command with writes changes the state, and
// finishes the transfer first.
var nextCommands = []struct {
	target bool
	writes bool
	args   []string
}{
	{false, false, []string{"state", "list"}},
	{true, false, []string{"state", "list"}},
	{false, false, []string{"plan"}},
	{true, false, []string{"plan"}},
	{false, true, []string{"apply", "-refresh-only", "-auto-approve"}},
	{true, true, []string{"apply", "-refresh-only", "-auto-approve"}},
	{false, true, []string{"taint", "terraform_data.kept"}},
	{true, true, []string{"state", "mv", "terraform_data.kept", "terraform_data.other"}},
	{true, true, []string{"apply", "-auto-approve"}}, // creates other objects if the transfer had no effect
	{false, true, []string{"state", "rm", "terraform_data.kept"}},
}

// after runs a command after an interrupted transfer, and checks both states.
func (p *transferPair) after(when string, n int) {
	p.source.Helper()
	c := nextCommands[n]
	s := p.source
	if c.target {
		s = p.target
	}
	when += ", then " + strings.Join(c.args, " ") + " in " + filepath.Base(filepath.Dir(s.dir))
	known := slices.ContainsFunc(p.records(), func(file string) bool { return filepath.Dir(file) == s.dir })
	out := s.must(c.args...)
	if c.args[0] != "plan" && strings.Contains(out, transferCanary) { // a plan shows the attribute output of terraform_data, which is not sensitive
		p.source.Errorf("%s: the value was printed", when)
	}
	p.once(when)
	if left := p.records(); c.writes && known && len(left) > 0 {
		p.source.Errorf("%s: %v are left", when, left)
	}
	if files := p.clear(); len(files) > 0 {
		p.source.Errorf("%s: %v have the value in clear", when, files)
	}
}

// TestTransferKilled ends a transfer at each call of the file system (without LETHE_LONG at every fifth), as if the
// process was killed, and then runs a command in one of the directories. Before and after this command, each object
// must be in exactly one state.
func TestTransferKilled(t *testing.T) {
	t.Parallel()
	from := newTransferPair(t, [2]bool{})
	all := &disktest.Faults{FS: disk.OS}
	whole := from.copyOf(t)
	if code, out := whole.source.run(all, whole.transferArgs()...); code != 0 || !strings.Contains(out, "Moved 3 objects") || strings.Contains(out, transferCanary) {
		t.Fatal(out)
	}
	whole.once("after the transfer")
	if left := whole.records(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	step := 1
	if os.Getenv("LETHE_LONG") == "" {
		step = 5
	}
	for at := 1 + rand.N(step); at <= all.Calls(); at += step {
		p := from.copyOf(t)
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the process was killed"), Dead: true, Half: true}
		p.source.run(faults, p.transferArgs()...)
		when := fmt.Sprintf("killed at call %d (%s)", at, faults.Last())
		p.once(when)
		p.after(when, at%len(nextCommands))
	}
}

// TestPushAfterKilledTransfer checks that state push and workspace new -state read the source of a killed transfer
// without the objects that the target has already.
func TestPushAfterKilledTransfer(t *testing.T) {
	t.Parallel()
	from := newTransferPair(t, [2]bool{})
	all := &disktest.Faults{FS: disk.OS}
	whole := from.copyOf(t)
	whole.source.run(all, whole.transferArgs()...)
	for at := all.Calls(); ; at-- {
		p := from.copyOf(t)
		p.source.run(&disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the process was killed"), Dead: true}, p.transferArgs()...)
		if !strings.Contains(p.target.read("terraform.tfstate"), p.ids[0]) {
			t.Fatal("no kill leaves the objects in both states")
		}
		if !strings.Contains(p.source.read("terraform.tfstate"), p.ids[0]) {
			continue
		}
		file := filepath.Join(p.source.dir, "terraform.tfstate")
		other := &transferPair{source: newSite(t, keptObject), target: p.target, ids: p.ids}
		other.source.must("state", "push", file)
		other.once("after state push")
		other.source.must("workspace", "new", "-state="+file, "w")
		other.once("after workspace new")
		return
	}
}

// TestTransferKilledAtRandom ends transfers at random calls of the file system, also with encrypted states, and then
// runs a command in one of the directories. In some transfers the process survives the error, and in some the command
// that finishes the transfer is killed, too.
func TestTransferKilledAtRandom(t *testing.T) {
	secondLane(t, drawsRandom)
	t.Parallel()
	times := 10
	if os.Getenv("LETHE_LONG") != "" {
		times = 2000
	}
	var pairs []*transferPair
	var calls []int
	for _, encrypted := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
		p := newTransferPair(t, encrypted)
		all, whole := &disktest.Faults{FS: disk.OS}, p.copyOf(t)
		if code, out := whole.source.run(all, whole.transferArgs()...); code != 0 {
			t.Fatal(out)
		}
		if files := whole.clear(); len(files) > 0 {
			t.Errorf("%v have the value in clear", files)
		}
		pairs, calls = append(pairs, p), append(calls, all.Calls())
	}
	for range times {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		n := r.IntN(len(pairs))
		p := pairs[n].copyOf(t)
		at := 1 + r.IntN(calls[n])
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the process was killed"), Dead: r.IntN(4) > 0, Half: true}
		p.source.run(faults, p.transferArgs()...)
		when := fmt.Sprintf("seed %d, encrypted %v, ended at call %d (%s)", seed, p.encrypted, at, faults.Last())
		p.once(when)
		for range r.IntN(3) {
			c := nextCommands[4+r.IntN(3)]
			s := p.source
			if c.target {
				s = p.target
			}
			again := &disktest.Faults{FS: disk.OS, At: 1 + r.IntN(60), Err: errors.New("the process was killed"), Dead: true, Half: true}
			s.run(again, c.args...)
			when += fmt.Sprintf(", then %s at call %d (%s)", strings.Join(c.args, " "), again.At, again.Last())
			p.once(when)
		}
		p.after(when, r.IntN(len(nextCommands)))
		p.after(when+" and once more", []int{4, 5}[r.IntN(2)])
	}
}

// TestTransferFailsWhole lets each call of the file system (without LETHE_LONG every seventh) fail in one transfer. The
// command reports success only if all objects were moved.
func TestTransferFailsWhole(t *testing.T) {
	t.Parallel()
	from := newTransferPair(t, [2]bool{})
	all, whole := &disktest.Faults{FS: disk.OS}, from.copyOf(t)
	if code, out := whole.source.run(all, whole.transferArgs()...); code != 0 {
		t.Fatal(out)
	}
	step := 1
	if os.Getenv("LETHE_LONG") == "" {
		step = 7
	}
	for at := 1 + rand.N(step); at <= all.Calls(); at += step {
		p := from.copyOf(t)
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the disk failed"), Half: true}
		code, out := p.source.run(faults, p.transferArgs()...)
		when := fmt.Sprintf("failed at call %d (%s)", at, faults.Last())
		p.once(when)
		target := p.objects(p.target)
		moved := !slices.ContainsFunc(p.ids, func(id string) bool { return target[id] == "" })
		if code == 0 && !moved {
			t.Errorf("%s: success, although objects are in the source:\n%s", when, out)
		}
		p.after(when, 4+at%2)
	}
}

// statesServer keeps the states and locks of the backend http, by path. It calls kill at one request, whose number,
// counted from 1, is in the field at. If late is set, it calls kill after the request had its effect, and otherwise
// instead of the effect. If the number is 0, it never calls kill.
type statesServer struct {
	mu     sync.Mutex
	states map[string][]byte
	locks  map[string][]byte
	calls  int // the number of requests so far
	at     int
	late   bool
	kill   func()
}

func (s *statesServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.calls++
	if s.calls == s.at && !s.late {
		s.kill()
		return
	}
	switch name := r.URL.Path; r.Method {
	case http.MethodGet:
		if s.states[name] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(s.states[name])
	case http.MethodPost:
		s.states[name] = body
	case "LOCK":
		if s.locks[name] != nil {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(s.locks[name])
			return
		}
		s.locks[name] = body
	case "UNLOCK":
		delete(s.locks, name)
	}
	if s.calls == s.at {
		s.kill()
	}
}

// TestTransferKilledAtRequest kills the process of a transfer between two states in a service at each of its requests,
// or without LETHE_LONG at every fourth request. The two stores share no file.
func TestTransferKilledAtRequest(t *testing.T) {
	t.Parallel()
	step, total := 4, 1
	if os.Getenv("LETHE_LONG") != "" {
		step = 1
	}
	for at := 0; at <= total; at += step {
		for _, late := range []bool{false, true} {
			calls := killedAtRequest(t, at, late)
			if at == 0 {
				total, at = calls, rand.N(step)+1-step
				break
			}
		}
	}
}

// killedAtRequest kills a transfer at the request with a number, counted from 1, and returns the number of requests
// that the server received. If the number is 0, it does not kill the transfer. If late is set, it kills the transfer
// after the request had its effect.
func killedAtRequest(t *testing.T, at int, late bool) int {
	server := &statesServer{states: map[string][]byte{}, locks: map[string][]byte{}, late: late}
	listen := httptest.NewServer(server)
	defer listen.Close()
	p := newProcess(t, "")
	write := func(dir, config string) {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		address := listen.URL + "/" + dir
		p.write(dir+"/main.tf", fmt.Sprintf("terraform {\n  backend \"http\" {\n    address        = %q\n    lock_address   = %q\n    unlock_address = %q\n  }\n}\n", address, address, address)+config)
	}
	must := func(dir string, args ...string) string {
		t.Helper()
		code, out := p.run(append([]string{"-chdir=" + dir}, args...)...)
		if code != 0 {
			t.Fatalf("request %d, late %t: lethe %s in %s:\n%s", at, late, strings.Join(args, " "), dir, out)
		}
		return out
	}
	write("a", movedObjects+keptObject)
	write("b", keptObject)
	for _, dir := range []string{"a", "b"} {
		must(dir, "init")
		must(dir, "apply", "-auto-approve")
	}
	write("a", keptObject)
	write("b", movedObjects+keptObject)
	run := p.command("-chdir=a", "state", "transfer", "-auto-approve", "-to=../b", "terraform_data.a", "terraform_data.b")
	server.mu.Lock()
	server.calls, server.at, server.kill = 0, at, func() { _ = run.cmd.Process.Kill() }
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	server.mu.Unlock()
	code, out := run.wait()
	if at == 0 && code != 0 {
		t.Fatal(out)
	}
	server.mu.Lock()
	calls := server.calls
	server.at, server.locks = 0, map[string][]byte{} // release all locks, as the command force-unlock would
	server.mu.Unlock()
	once := func(when string) {
		a, b := must("a", "state", "list"), must("b", "state", "list")
		for _, name := range []string{`terraform_data.a["x"]`, `terraform_data.a["y"]`, "terraform_data.b"} {
			if strings.Contains(a, name) == strings.Contains(b, name) {
				t.Errorf("request %d, late %t, %s: %s is in both states or in none:\n%s\n%s", at, late, when, name, a, b)
			}
		}
	}
	once("at once")
	dir := []string{"a", "b"}[rand.N(2)]
	must(dir, "apply", "-refresh-only", "-auto-approve")
	once("after a command in " + dir)
	if left, _ := filepath.Glob(filepath.Join(p.dir, dir, ".terraform", "*.transfer")); len(left) > 0 {
		t.Errorf("request %d, late %t: %v are left", at, late, left)
	}
	return calls
}
