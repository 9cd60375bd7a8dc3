package stores

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/azurestore"
	"github.com/lethe-iac/lethe/internal/store/gcsstore"
	"github.com/lethe-iac/lethe/internal/store/httpstore"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
	"github.com/lethe-iac/lethe/internal/store/remotestore/tfetest"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// fault replaces the answer to a request.
type fault struct {
	name   string
	status int           // the status of the answer; 0: the fault has no status
	late   bool          // the fault occurs after the request was carried out
	delay  time.Duration // the time before the usual answer
	passes bool          // Terraform retries the request, or is not affected by the fault
}

var faults = []fault{
	{name: "400", status: http.StatusBadRequest}, {name: "403", status: http.StatusForbidden},
	{name: "409", status: http.StatusConflict}, {name: "412", status: http.StatusPreconditionFailed},
	{name: "429", status: http.StatusTooManyRequests, passes: true}, {name: "500", status: http.StatusInternalServerError, passes: true},
	{name: "503", status: http.StatusServiceUnavailable, passes: true}, {name: "504 after the request was carried out", status: http.StatusGatewayTimeout, late: true, passes: true},
	{name: "reset", passes: true}, {name: "answer lost", late: true, passes: true}, {name: "delay", delay: 20 * time.Millisecond, passes: true},
}

// faulty wraps a server and replaces some answers by faults. The faults begin at a request, and last for a number of
// requests or for a time.
type faulty struct {
	http.Handler

	mu    sync.Mutex
	fault fault
	skip  int // number of requests before the first fault
	times int
	until time.Time
	seen  int    // number of faults so far
	only  string // the method of the requests that are counted; "": all requests are counted
}

// begin sets the next faults. After skip requests, the fault occurs until it has occurred the given number of times and
// the given duration has passed.
func (f *faulty) begin(what fault, skip, times int, during time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.skip, f.times, f.until, f.seen = what, skip, times, time.Now().Add(during), 0
}

// end ends the faults and returns the number of faults since begin.
func (f *faulty) end() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times, f.until = 0, time.Time{}
	return f.seen
}

// next returns the fault of the next request, and whether it has one.
func (f *faulty) next() (fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.skip--; f.skip >= 0 || f.seen >= f.times && !time.Now().Before(f.until) {
		return fault{}, false
	}
	f.seen++
	return f.fault, true
}

// ServeHTTP passes a request to the wrapped handler, or answers with a fault.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, now := fault{}, false
	if f.only == "" || r.Method == f.only {
		what, now = f.next()
	}
	switch {
	case !now:
		f.Handler.ServeHTTP(w, r)
		return
	case what.delay > 0:
		time.Sleep(what.delay) // delay the answer, as a slow service does
		f.Handler.ServeHTTP(w, r)
		return
	case what.late:
		f.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if what.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(what.status)
}

// around returns h with the faults in front.
func (f *faulty) around(h http.Handler) http.Handler {
	f.Handler = h
	return f
}

// faultyStores holds the stores that use HTTP, each on a server with faults.
var faultyStores = map[string]func(t *testing.T, f *faulty) store.Store{
	"http": func(t *testing.T, f *faulty) store.Store {
		server := httptest.NewServer(f.around(&storetest.HTTP{User: "u", Password: "p", ETags: true}))
		t.Cleanup(server.Close)
		config, err := httpstore.Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"address": cty.StringVal(server.URL), "lock_address": cty.StringVal(server.URL), "unlock_address": cty.StringVal(server.URL), "username": cty.StringVal("u"), "password": cty.StringVal("p"),
		}))
		check(t, err)
		st, err := httpstore.Driver.Open(ctx, store.Settings{Config: config})
		check(t, err)
		return st
	},
	"s3": func(t *testing.T, f *faulty) store.Store {
		return s3Opener(t, s3Settings(startS3(t, f.around), map[string]cty.Value{"use_lockfile": cty.True}))()
	},
	"s3 with a table": func(t *testing.T, f *faulty) store.Store {
		url := startS3(t, func(h http.Handler) http.Handler { return f.around(withTable(h)) })
		return s3Opener(t, s3Settings(url, map[string]cty.Value{"dynamodb_table": cty.StringVal("locks")}))()
	},
	"gcs": func(t *testing.T, f *faulty) store.Store {
		config, err := gcsstore.Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"bucket": cty.StringVal("states"), "access_token": cty.StringVal("canary-4711"), "storage_custom_endpoint": cty.StringVal(startGCS(t, f.around)),
		}))
		check(t, err)
		st, err := gcsstore.Driver.Open(ctx, store.Settings{Config: config, Getenv: os.Getenv})
		check(t, err)
		return st
	},
	"azurerm": func(t *testing.T, f *faulty) store.Store {
		server := httptest.NewServer(f.around(&azure{blobs: map[string]*azureBlob{}}))
		t.Cleanup(server.Close)
		key, err := container.NewSharedKeyCredential("acct", azureKey)
		check(t, err)
		c, err := container.NewClientWithSharedKeyCredential(server.URL+"/states", key, &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
		check(t, err)
		return store.Retrying(azurestore.New(azurestore.Options{Container: c, Key: "net/a.tfstate"}), store.Settings{}.Tries(time.Minute))
	},
	"remote": func(t *testing.T, f *faulty) store.Store {
		server := httptest.NewServer(f.around(&tfetest.Service{}))
		t.Cleanup(server.Close)
		base, err := url.Parse(server.URL + "/api/v2/")
		check(t, err)
		config, err := remotestore.Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"hostname": cty.StringVal("tfe.test"), "organization": cty.StringVal(tfetest.Organization), "workspaces": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a")}),
		}))
		check(t, err)
		st, err := remotestore.Driver.Open(ctx, store.Settings{Config: config, Schema: remotestore.Driver.Schema, Getenv: func(string) string { return "" }, Hosts: oneHost{base}})
		check(t, err)
		return st
	},
	"s3, encrypted": func(t *testing.T, f *faulty) store.Store {
		return encrypted(t, s3Opener(t, s3Settings(startS3(t, f.around), map[string]cty.Value{"use_lockfile": cty.True})))()
	},
	"s3 with a journal": func(t *testing.T, f *faulty) store.Store {
		return s3Opener(t, s3Settings(startS3(t, f.around), map[string]cty.Value{"use_lockfile": cty.True, "journal": cty.True}))()
	},
	"consul": func(t *testing.T, f *faulty) store.Store {
		return consulOpener(t, startConsul(t, f.around(newConsul())), nil)()
	},
	"kubernetes": func(t *testing.T, f *faulty) store.Store {
		st, err := openKube(t, startKube(t, f.around), nil)
		check(t, err)
		return st
	},
}

// oneHost is a host with one service.
type oneHost struct{ base *url.URL }

func (h oneHost) Service(context.Context, string, string) (*url.URL, error) { return h.base, nil }
func (h oneHost) Token(context.Context, string) (string, error)             { return tfetest.Token, nil }

// hurried divides the pauses of retry policies by a factor until the end of the test.
func hurried(t *testing.T, factor int64) {
	store.Hurry(factor)
	t.Cleanup(func() { store.Hurry(1) })
}

// TestFaultOnce checks that a run survives one fault at any request, if Terraform's clients retry that fault.
func TestFaultOnce(t *testing.T) {
	hurried(t, 100)
	for name, open := range faultyStores {
		for _, what := range faults {
			if !what.passes {
				continue
			}
			t.Run(name+"/"+what.name, func(t *testing.T) {
				f := &faulty{}
				st := open(t, f)
				v, err := st.Put(ctx, store.Default, document(1, 1, 10, ""), "")
				check(t, err)
				for n := 0; ; n++ {
					f.begin(what, n, 1, 0)
					v = ranThrough(t, st, v, document(n+2, 1, 10, ""))
					if f.end() == 0 {
						break
					}
				}
			})
		}
	}
}

// ranThrough locks a state, reads it, writes it, and releases the lock. The read state must have the version prev. It
// returns the version of the written state.
func ranThrough(t *testing.T, st store.Store, prev store.Version, next []byte) store.Version {
	t.Helper()
	unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
	check(t, err)
	_, v, err := st.Get(ctx, store.Default)
	check(t, err)
	if v != prev {
		t.Fatalf("the version is %q, not %q", v, prev)
	}
	v, err = st.Put(ctx, store.Default, next, v)
	check(t, err)
	check(t, unlock(ctx))
	return v
}

// TestFaultAtTheEnd checks that a write and the release of a lock survive three faults, and a service that fails for 30
// seconds.
func TestFaultAtTheEnd(t *testing.T) {
	const factor = 200
	hurried(t, factor)
	for name, open := range faultyStores {
		for _, what := range faults {
			for _, times := range []int{3, 0} {
				if !what.passes || what.delay > 0 && times == 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, what.name, times), func(t *testing.T) {
					f, during := &faulty{}, time.Duration(0)
					if times == 0 {
						during = 30 * time.Second / factor
					}
					st := open(t, f)
					v, err := st.Put(ctx, store.Default, document(1, 1, 10, ""), "")
					check(t, err)
					unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
					check(t, err)
					want := document(2, 1, 10, "")
					f.begin(what, 0, times, during)
					v, err = st.Put(ctx, store.Default, want, v)
					check(t, err)
					f.begin(what, 0, times, during)
					check(t, unlock(ctx))
					if f.end() == 0 {
						t.Error("there was no fault")
					}
					have, now, err := st.Get(ctx, store.Default)
					check(t, err)
					if string(have) != string(want) || now != v {
						t.Errorf("there is %s of version %q, not %q", have, now, v)
					}
					ranThrough(t, st, v, document(3, 1, 10, ""))
				})
			}
		}
	}
}

// TestFaultRefused checks refused requests. Afterwards the state is the old one, unless the error calls the result
// unknown. The lock can be released.
func TestFaultRefused(t *testing.T) {
	hurried(t, 200)
	for name, open := range faultyStores {
		for _, what := range faults {
			if what.passes {
				continue
			}
			t.Run(name+"/"+what.name, func(t *testing.T) {
				f := &faulty{}
				st := open(t, f)
				had := document(1, 1, 10, "")
				v, err := st.Put(ctx, store.Default, had, "")
				check(t, err)
				for n := 0; ; n++ {
					unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
					check(t, err)
					next := document(n+2, 1, 10, "")
					f.begin(what, n, 1, 0)
					_, failed := st.Put(ctx, store.Default, next, v)
					reached := f.end() > 0
					check(t, unlock(ctx))
					have, now, err := st.Get(ctx, store.Default)
					var damaged *store.DamagedError
					if errors.As(err, &damaged) { // the error is expected: the checksum could not be written
						if !strings.Contains(fmt.Sprint(failed), "its checksum could not be written") {
							t.Fatalf("at %d: %v, after %v", n, err, failed)
						}
						break
					}
					check(t, err)
					switch written := string(have) == string(next); {
					case failed == nil && !written, failed != nil && !written && string(have) != string(had):
						t.Fatalf("at %d there is %s, after %v", n, have, failed)
					case failed != nil && written && !strings.Contains(failed.Error(), "the state was written"):
						t.Errorf("at %d the state was written, and the error is %v", n, failed)
					}
					if had, v = have, now; !reached {
						break
					}
				}
			})
		}
	}
}

// TestFaultBesideTerraform checks that Lethe survives all faults that Terraform survives during a write, and that the
// state is written.
func TestFaultBesideTerraform(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no Terraform")
	}
	ours, err := lethe()
	check(t, err)
	for _, what := range faults {
		if what.delay > 0 {
			continue
		}
		t.Run(what.name, func(t *testing.T) {
			exit, stored := map[string]int{}, map[string]bool{}
			for _, program := range []string{ours, terraform} {
				f := &faulty{only: http.MethodPost}
				server := httptest.NewServer(f.around(&storetest.HTTP{User: "u", Password: "p", ETags: true}))
				t.Cleanup(server.Close)
				address := fmt.Sprintf("%q", server.URL)
				u := newDirectory(t, program, place{"terraform {\n  backend \"http\" {\n    address        = " + address + "\n    lock_address   = " + address + "\n    unlock_address = " + address + "\n    username       = \"u\"\n  }\n}\n", []string{"TF_HTTP_PASSWORD=p"}})
				u.run(0, "apply", "-auto-approve", "-var", "v=first")
				f.begin(what, 0, 1, 0)
				cmd := u.cmd("apply", "-auto-approve", "-var", "v=second")
				_ = cmd.Run()
				f.end()
				exit[program], stored[program] = cmd.ProcessState.ExitCode(), strings.Contains(u.run(0, "state", "pull"), "second")
			}
			if exit[ours] != 0 && exit[terraform] == 0 || !stored[ours] && stored[terraform] || exit[ours] == 0 && !stored[ours] {
				t.Errorf("exit codes %v, state written %v", exit, stored)
			}
		})
	}
}
