package stores

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// bucket records the requests to a service, and refuses some of them.
type bucket struct {
	sync.Mutex
	asked  map[string]int             // numbers of requests, keyed by method and kind of object, such as "PUT journal"
	keys   []string                   // keys that were written, without the bucket
	bodies [][]byte                   // bodies that were sent
	refuse func(r *http.Request) bool // nil refuses no request
	slow   time.Duration              // delay of each request
}

// around returns a handler that records and delays each request, and refuses it or passes it to next.
func (b *bucket) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		kind := "state"
		switch {
		case strings.Contains(r.URL.Path+r.URL.Query().Get("prefix"), ".journal/"):
			kind = "journal"
		case strings.HasSuffix(r.URL.Path, ".tflock"):
			kind = "lock"
		case r.URL.Query().Has("list-type"):
			kind = "list"
		}
		b.Lock()
		if b.asked == nil {
			b.asked = map[string]int{}
		}
		b.asked[r.Method+" "+kind]++
		b.bodies = append(b.bodies, body)
		if r.Method == http.MethodPut {
			b.keys = append(b.keys, strings.TrimPrefix(r.URL.Path, "/states/"))
		}
		refused := b.refuse != nil && b.refuse(r)
		slow := b.slow
		b.Unlock()
		time.Sleep(slow) // delay the request, as a slow service does
		if refused {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forget resets the records.
func (b *bucket) forget() {
	b.Lock()
	defer b.Unlock()
	b.asked, b.keys, b.bodies = nil, nil, nil
}

// count returns the number of requests of a method and kind, such as "PUT journal", since the last forget.
func (b *bucket) count(what string) int {
	b.Lock()
	defer b.Unlock()
	return b.asked[what]
}

// denies sets the function that selects the requests to refuse. nil refuses no request.
func (b *bucket) denies(f func(*http.Request) bool) {
	b.Lock()
	defer b.Unlock()
	b.refuse = f
}

// journals returns the sorted keys of the objects of journals that are not empty, at the URL of a service.
func journals(t *testing.T, url string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(pieces(t, url)))
}

// pieces returns the sizes in bytes of the objects of journals that are not empty, keyed by the key of the object.
func pieces(t *testing.T, url string) map[string]int64 {
	t.Helper()
	resp, err := http.Get(url + "/states?list-type=2")
	check(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check(t, err)
	out := map[string]int64{}
	for _, o := range strings.Split(string(text), "<Contents>")[1:] {
		key, _, _ := strings.Cut(strings.SplitN(o, "<Key>", 2)[1], "</Key>")
		number, _, _ := strings.Cut(strings.SplitN(o, "<Size>", 2)[1], "</Size>")
		size, err := strconv.ParseInt(number, 10, 64)
		check(t, err)
		if strings.Contains(key, ".journal/") && size > 0 {
			out[key] = size
		}
	}
	return out
}

// s3Place returns a place in the bucket of the service at a URL, with a key and a lock object. The parameter more has
// further lines of the backend block, and env has further environment variables.
func s3Place(url, key, more string, env ...string) place {
	return place{
		fmt.Sprintf("terraform {\n  backend \"s3\" {\n    bucket = \"states\"\n    key = %q\n    region = \"us-east-1\"\n    use_path_style = true\n    use_lockfile = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true\n    skip_metadata_api_check = true\n    endpoints = { s3 = %q }\n%s  }\n}\n", key, url, more),
		append([]string{"AWS_ACCESS_KEY_ID=user", "AWS_SECRET_ACCESS_KEY=canary-4711", "AWS_EC2_METADATA_DISABLED=true"}, env...),
	}
}

// chained is a configuration whose last object waits during its creation.
const chained = `
variable "v" {}
variable "hold" {
  default = ""
}
resource "terraform_data" "first" {
  count = 3
  input = "plainly-${var.v}"
}
resource "terraform_data" "last" {
  depends_on       = [terraform_data.first]
  input            = var.v
  triggers_replace = var.v
  provisioner "local-exec" {
    command = var.hold == "" ? "true" : "touch ${var.hold}.here; while test -e ${var.hold}; do sleep 0.02; done"
  }
}
`

// runner returns a new working directory with the chained configuration, in which init has run. The parameter more is
// added to the configuration.
func runner(t *testing.T, program string, p place, more string) *directory {
	t.Helper()
	u := &directory{t, program, t.TempDir(), slices.Concat(os.Environ(), []string{"TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_IN_AUTOMATION=1"}, p.env)}
	u.configure(chained + more + p.backend)
	u.run(0, "init")
	return u
}

// lose kills an apply with the value v while it creates its last object, after its journal was copied to the bucket at
// the URL. Then it removes the files of the directory. The lock stays.
func lose(u *directory, url, v string) {
	u.Helper()
	cmd, done := u.holding(v)
	copied(u, inBucket(u.T, url))
	check(u.T, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	check(u.T, os.RemoveAll(u.dir))
	check(u.T, os.Mkdir(u.dir, 0o700))
}

// copied waits until a store has all bytes of the journals of a directory. there() is the number of bytes that the store has.
func copied(u *directory, there func() int64) {
	u.Helper()
	waittest.Until(u.T, "the journal is in the store", func() bool {
		files, _ := filepath.Glob(filepath.Join(u.dir, ".terraform", "*.journal"))
		var has int64
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				has += info.Size()
			}
		}
		return has > 0 && has == there()
	})
}

// inBucket returns a function that returns the number of bytes of the longest journal in the bucket of a service.
func inBucket(t *testing.T, url string) func() int64 {
	return func() (there int64) {
		for key, size := range pieces(t, url) {
			position, _, _ := strings.Cut(key[strings.LastIndex(key, "/")+1:], "-")
			at, err := strconv.ParseInt(position, 10, 64)
			check(t, err)
			there = max(there, at+size)
		}
		return there
	}
}

// unlocked releases the lock of a crashed run. It ends the test if the state is not locked.
func unlocked(u *directory) {
	u.Helper()
	out := u.run(1, "plan", "-var", "v=x")
	_, id, locked := strings.Cut(out, "ID: ")
	if !locked {
		u.Fatalf("the state is not locked:\n%s", out)
	}
	id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
	u.run(0, "force-unlock", "-force", strings.TrimSpace(id))
}

const journalOn = "    journal = true\n"

// TestJournalInS3 checks that the changes of a run whose machine is lost are recovered by the next command that takes
// the lock, on any machine.
func TestJournalInS3(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	for name, test := range map[string]func(*testing.T, string, string, *bucket){
		"lost": testLostRunner, "encrypted": testLostEncrypted, "moved on": testLostMovedOn, "workspace": testLostWorkspace,
		"own directory": testLostOwn, "not taken": testJournalRefused, "not removed": testJournalKept, "off": testJournalOff,
		"without a lock": testJournalUnlocked,
	} {
		t.Run(name, func(t *testing.T) {
			b := &bucket{}
			test(t, ours, startS3(t, func(h http.Handler) http.Handler { return b.around(withTable(h)) }), b)
		})
	}
}

// none fails the test if the bucket has a journal that is not empty.
func none(t *testing.T, url string) {
	t.Helper()
	if left := journals(t, url); len(left) > 0 {
		t.Errorf("journals are left: %s", left)
	}
}

// wants fails the test if a text does not contain all words. White space counts as one space, and the bars of
// diagnostics are ignored.
func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(strings.ReplaceAll(text, "│", " ")), " ")
	for _, w := range words {
		if !strings.Contains(flat, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// testLostRunner checks that another machine recovers the changes of a lost run, for each kind of lock and each way to
// configure the journal.
func testLostRunner(t *testing.T, ours, url string, _ *bucket) {
	table := s3Place(url, "net/c", journalOn+"    dynamodb_table = \"locks\"\n")
	table.backend = strings.NewReplacer("    use_lockfile = true\n", "", "endpoints = { ", "endpoints = { dynamodb = \""+url+"/dynamodb\", ").Replace(table.backend)
	for _, p := range []place{s3Place(url, "net/a", journalOn), s3Place(url, "net/b", "", "LETHE_S3_JOURNAL=1"), table} {
		for _, first := range []bool{true, false} { // true: the first run of the state; false: a later run
			if !first {
				runner(t, ours, p, "").run(0, "destroy", "-auto-approve", "-var", "v=1")
			}
			lose(runner(t, ours, p, ""), url, "1")
			if len(journals(t, url)) == 0 {
				t.Fatal("there is no journal")
			}
			next := runner(t, ours, p, "")
			wants(t, next.run(0, "state", "check"), "in the backend, of the run that has the lock:", "recorded 4 changes that the state lacks")
			wants(t, next.run(0, "state", "list"), "terraform_data.last") // listing works, although the other run may still be active
			unlocked(next)
			wants(t, next.run(0, "state", "list"), "terraform_data.last")
			wants(t, next.run(0, "state", "check"), "in the backend: the run default-", "recorded 4 changes that the state lacks")
			wants(t, next.run(0, "plan", "-var", "v=1"), "Recovered an interrupted run", "4 changes were recovered", "terraform_data.last is tainted")
			if len(journals(t, url)) == 0 {
				t.Error("a plan removes the journal")
			}
			out := next.run(0, "apply", "-auto-approve", "-var", "v=1")
			wants(t, out, "Recovered an interrupted run", "1 added, 0 changed, 1 destroyed")
			none(t, url)
			if list := next.run(0, "state", "list"); strings.Count(list, "\n") != 4 {
				t.Errorf("the state has:\n%s", list)
			}
			if out := runner(t, ours, p, "").run(0, "plan", "-detailed-exitcode", "-var", "v=1"); strings.Contains(out, "Recovered") {
				t.Errorf("it is taken in again:\n%s", out)
			}
		}
	}
}

// testLostEncrypted checks that a journal of an encrypted state is encrypted, and that a run with another key neither
// reads nor removes it.
func testLostEncrypted(t *testing.T, ours, url string, b *bucket) {
	encryption := "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"correct horse battery\"\n      iterations = 200000\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n"
	p := s3Place(url, "a", journalOn)
	lose(runner(t, ours, p, encryption), url, "canary-7")
	if len(journals(t, url)) == 0 {
		t.Fatal("there is no journal")
	}
	other := runner(t, ours, p, strings.Replace(encryption, "horse", "mouse", 1))
	unlocked(other)
	wants(t, other.run(1, "apply", "-auto-approve", "-var", "v=canary-7"), "key")
	if len(journals(t, url)) == 0 {
		t.Fatal("who has another key removes the journal")
	}
	next := runner(t, ours, p, encryption)
	wants(t, next.run(0, "apply", "-auto-approve", "-var", "v=canary-7"), "Recovered an interrupted run", "1 added, 0 changed, 1 destroyed")
	none(t, url)
	b.Lock()
	defer b.Unlock()
	for _, body := range b.bodies {
		for _, word := range []string{"plainly", "canary-7", "terraform_data"} {
			if bytes.Contains(body, []byte(word)) {
				t.Errorf("%q went to the bucket:\n%.200q", word, body)
			}
		}
	}
}

// testLostMovedOn writes the state without the journal setting between the crashed run and the next run with the
// setting.
func testLostMovedOn(t *testing.T, ours, url string, _ *bucket) {
	on, off := s3Place(url, "a", "", "LETHE_S3_JOURNAL=true"), s3Place(url, "a", "")
	runner(t, ours, on, "").run(0, "apply", "-auto-approve", "-var", "v=1", "-target=terraform_data.first[0]")
	lose(runner(t, ours, on, ""), url, "2") // the run updates first[0] and creates first[1] and first[2]
	without := runner(t, ours, off, "")
	unlocked(without)
	without.run(0, "apply", "-auto-approve", "-var", "v=3", "-target=terraform_data.first[0]")
	next := runner(t, ours, on, "")
	out := next.run(0, "apply", "-auto-approve", "-var", "v=2", "-target=terraform_data.first")
	wants(t, out, "Recovered an interrupted run", "3 changes were recovered", "Changes not recovered", "terraform_data.first[0]", "0 added, 1 changed, 0 destroyed")
	none(t, url)
	if aside, _ := filepath.Glob(filepath.Join(next.dir, ".terraform", "*.aside-*")); len(aside) != 1 {
		t.Errorf("put aside is %s", aside)
	}
	if list := next.run(0, "state", "list"); strings.Count(list, "\n") != 4 {
		t.Errorf("the state has:\n%s", list)
	}
	// The state was removed.
	lose(runner(t, ours, on, ""), url, "4")
	unlocked(without)
	without.run(0, "destroy", "-auto-approve", "-var", "v=1")
	wants(t, next.run(0, "apply", "-auto-approve", "-var", "v=1"), "Changes not recovered")
	none(t, url)
}

// testLostWorkspace checks that the journal of a workspace is not listed as a workspace, that no other workspace
// recovers it, and that the removal of the workspace removes it.
func testLostWorkspace(t *testing.T, ours, url string, _ *bucket) {
	p := s3Place(url, "net/a", journalOn)
	u := runner(t, ours, p, "")
	u.run(0, "workspace", "new", "w")
	lose(u, url, "1")
	next := runner(t, ours, p, "")
	for _, key := range journals(t, url) {
		if !strings.HasPrefix(key, "env:/w/net/a.journal/") {
			t.Errorf("a journal is at %s", key)
		}
	}
	if out := next.run(0, "workspace", "list"); !slices.Equal(strings.Fields(out), []string{"*", "default", "w"}) {
		t.Errorf("workspaces: %s", out)
	}
	if terraform, err := exec.LookPath("terraform"); err == nil {
		tf := runner(t, terraform, s3Place(url, "net/a", ""), "")
		if out := tf.run(0, "workspace", "list"); !slices.Equal(strings.Fields(out), []string{"*", "default", "w"}) {
			t.Errorf("workspaces, as Terraform sees them: %s", out)
		}
	}
	if out := next.run(0, "apply", "-auto-approve", "-var", "v=1"); strings.Contains(out, "Recovered") {
		t.Errorf("the default workspace takes in the journal of another:\n%s", out)
	}
	out := next.run(1, "workspace", "delete", "w")
	wants(t, out, "Error acquiring the state lock")
	_, id, _ := strings.Cut(out, "ID: ")
	id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
	next.run(0, "workspace", "select", "w")
	next.run(0, "force-unlock", "-force", strings.TrimSpace(id))
	next.run(0, "workspace", "select", "default")
	wants(t, next.run(1, "workspace", "delete", "w"), "Recovered an interrupted run")
	next.run(0, "workspace", "delete", "-force", "w")
	none(t, url)
	if out := next.run(0, "workspace", "list"); strings.Contains(out, "w") {
		t.Errorf("workspaces: %s", out)
	}
}

// testLostOwn checks that a run in the same directory recovers from the file, and recovers the journal in the bucket
// only once.
func testLostOwn(t *testing.T, ours, url string, _ *bucket) {
	p := s3Place(url, "a", journalOn)
	kill := func(u *directory, v string) {
		t.Helper()
		cmd, done := u.holding(v)
		copied(u, inBucket(u.T, url))
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
		done()
		unlocked(u)
	}
	u := runner(t, ours, p, "")
	kill(u, "1")
	if out := u.run(0, "apply", "-auto-approve", "-var", "v=1"); strings.Count(out, "Recovered an interrupted run") != 1 || strings.Contains(out, "another state") {
		t.Errorf("taken in:\n%s", out)
	}
	none(t, url)
	// Another machine recovers first; then nothing remains to recover here.
	kill(u, "2")
	other := runner(t, ours, p, "")
	wants(t, other.run(0, "apply", "-auto-approve", "-var", "v=2", "-target=terraform_data.first"), "Recovered an interrupted run", "0 added, 0 changed, 0 destroyed")
	none(t, url)
	if out := u.run(0, "plan", "-var", "v=2"); strings.Contains(out, "another state") || strings.Contains(out, "not taken in") {
		t.Errorf("what another took in is in the way here:\n%s", out)
	}
}

// testJournalRefused checks that a run works although the bucket refuses the journal, and that a warning reports this.
func testJournalRefused(t *testing.T, ours, url string, b *bucket) {
	p := s3Place(url, "a", journalOn)
	u := runner(t, ours, p, "")
	b.denies(func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, ".journal/")
	})
	wants(t, u.run(0, "apply", "-auto-approve", "-var", "v=1"), "4 added", "Warning: Journal not in the backend", "AccessDenied")
	if n := b.count("PUT journal"); n != 1 {
		t.Errorf("%d attempts", n)
	}
	b.denies(func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.Contains(r.URL.Query().Get("prefix"), ".journal/")
	})
	wants(t, u.run(1, "apply", "-auto-approve", "-var", "v=1"), "cannot be listed", "LETHE_S3_JOURNAL")
}

// testJournalKept checks a bucket that refuses removals: the journal that remains is empty, and the next run ignores
// it.
func testJournalKept(t *testing.T, ours, url string, b *bucket) {
	p := s3Place(url, "a", journalOn)
	u := runner(t, ours, p, "")
	b.denies(func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, ".journal/")
	})
	for _, v := range []string{"1", "2"} {
		if out := u.run(0, "apply", "-auto-approve", "-var", "v="+v); strings.Contains(out, "Warning") {
			t.Errorf("it says:\n%s", out)
		}
		none(t, url)
	}
}

// testJournalOff checks that without the setting only the state and its lock are requested.
func testJournalOff(t *testing.T, ours, url string, b *bucket) {
	p := s3Place(url, "net/a", "")
	b.denies(func(r *http.Request) bool {
		path := strings.TrimPrefix(r.URL.Path, "/states/")
		return path != "net/a" && path != "net/a.tflock" && r.URL.Query().Get("prefix") != "env:/"
	})
	u := runner(t, ours, p, "")
	u.run(0, "apply", "-auto-approve", "-var", "v=1")
	u.run(0, "destroy", "-auto-approve", "-var", "v=1")
	// With -lock=false the store keeps no journal, because the next holder of the lock could not know that the run is
	// active.
	b.denies(nil)
	on := runner(t, ours, s3Place(url, "net/a", journalOn), "") // init reads the state
	b.forget()
	on.run(0, "apply", "-auto-approve", "-lock=false", "-var", "v=1")
	if n := b.count("PUT journal") + b.count("GET journal"); n != 0 {
		t.Errorf("with -lock=false, %d requests are about journals", n)
	}
}

// testJournalUnlocked checks that a journal without any kind of lock is an error, unless the run has -lock=false.
func testJournalUnlocked(t *testing.T, ours, url string, _ *bucket) {
	p := s3Place(url, "a", journalOn)
	p.backend = strings.Replace(p.backend, "    use_lockfile = true\n", "", 1)
	u := runner(t, ours, p, "")
	wants(t, u.run(1, "apply", "-auto-approve", "-var", "v=1"), "set use_lockfile or dynamodb_table")
	u.run(0, "apply", "-auto-approve", "-lock=false", "-var", "v=1")
}

// TestJournalRequests counts the requests for the journal of an apply. Requests for the state and its lock are the same
// as without it. The time limits the number of requests for the journal.
func TestJournalRequests(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	b := &bucket{}
	url := startS3(t, b.around)
	for _, n := range []int{1, 100} {
		many := fmt.Sprintf("resource \"terraform_data\" \"many\" {\n  count = %d\n  input = var.v\n}\n", n-1)
		for _, latency := range []time.Duration{0, 30 * time.Millisecond} {
			var without map[string]int
			for _, setting := range []string{"", journalOn} {
				p := s3Place(url, fmt.Sprintf("%d/%v/%d", n, latency, len(setting)), setting)
				u := runner(t, ours, p, "")
				u.configure("variable \"v\" {}\nresource \"terraform_data\" \"one\" {\n  input = var.v\n}\n" + many + p.backend)
				b.forget()
				b.Lock()
				b.slow = latency
				b.Unlock()
				begun := time.Now()
				u.run(0, "apply", "-auto-approve", "-var", "v=1")
				took := time.Since(begun).Round(10 * time.Millisecond)
				b.Lock()
				b.slow = 0
				t.Logf("%3d objects, latency %v, journal %v: %v in %v", n, latency, setting != "", b.asked, took)
				of := map[string]int{}
				for what, number := range b.asked {
					if !strings.HasSuffix(what, " journal") {
						of[what] = number
					} else if limit := 2*n + 8; number > limit {
						t.Errorf("%d times %s, and no more than %d were to be made", number, what, limit)
					}
				}
				b.Unlock()
				if without != nil && !maps.Equal(without, of) {
					t.Errorf("of state and lock there are %v requests, and %v without the journal", of, without)
				}
				without = of
			}
		}
	}
	none(t, url)
}
