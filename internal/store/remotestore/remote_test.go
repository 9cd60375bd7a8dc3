package remotestore

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/remotestore/tfetest"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

func opener(t *testing.T, h http.Handler, o Options) func() store.Store {
	server := httptest.NewServer(h)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/api/v2/")
	if err != nil {
		t.Fatal(err)
	}
	o.Base, o.Token, o.Organization = base, tfetest.Token, tfetest.Organization
	return func() store.Store {
		o := o
		o.Client, o.Tries = &http.Client{}, store.Tries{Retries: 3, Shortest: time.Millisecond, Longest: time.Millisecond}
		return store.Retrying(newRemote(o), o.Tries)
	}
}

// TestLongReason checks that the reason of a lock is short enough for the service and contains the ID.
func TestLongReason(t *testing.T) {
	s := &tfetest.Service{}
	open := opener(t, s, Options{Name: "a"})
	who := store.NewLockInfo("OperationTypeApply", "1.12.0")
	who.Who = strings.Repeat("é", 200) + "@" + strings.Repeat("host.", 20)
	unlock, err := open().Lock(t.Context(), store.Default, who)
	if err != nil {
		t.Fatal(err)
	}
	_, err = open().Lock(t.Context(), store.Default, store.NewLockInfo("other", "1"))
	var held *store.LockError
	if !errors.As(err, &held) || held.Held == nil || held.Held.ID != who.ID || held.Held.Path != "net/a" {
		t.Errorf("%v", err)
	}
	if err := unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if names := strings.Join(s.Requests(), "\n"); !strings.Contains(names, "safe-delete") {
		t.Errorf("the workspace that was made for the lock is left:\n%s", names)
	}
}

func TestContract(t *testing.T) {
	for name, o := range map[string]Options{"name": {Name: "a"}, "prefix": {Prefix: "net-"}, "tags": {Tags: []string{"app", "net"}}, "bindings": {Bindings: map[string]string{"team": "net", "stage": "1"}}, "project": {Project: "prj-2"}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, &tfetest.Service{}, o) })
		})
		t.Run(name+" cut", func(t *testing.T) {
			storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
				c := &storetest.Interrupter{Handler: &tfetest.Service{}}
				return opener(t, c, o), c
			})
		})
	}
}

// TestAskedAgain checks that requests are repeated if a connection breaks in Permit or in Prepare.
func TestAskedAgain(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, afterWrite := range []bool{false, true} {
			s := &tfetest.Service{Mode: "local"}
			c := &storetest.Interrupter{Handler: s}
			st := opener(t, c, Options{Name: "a", Named: true})()
			c.Interrupt(n, afterWrite)
			named := st.Capabilities().Named
			if err := named.Prepare(t.Context()); err != nil || !c.Reached() {
				t.Errorf("cut at %d, late %t: %v", n, afterWrite, err)
			}
			c.Interrupt(1, afterWrite)
			checker := st.Capabilities().Policy
			if err := checker.Permit(t.Context(), "a", true, ""); err != nil || !c.Reached() {
				t.Errorf("cut, late %t: %v", afterWrite, err)
			}
			if names, err := st.List(t.Context()); err != nil || len(names) != 1 || names[0] != "a" {
				t.Errorf("cut at %d, late %t: there is %q, %v", n, afterWrite, names, err)
			}
		}
	}
}

// TestVersionOfWorkspace checks which Terraform versions of a workspace permit a state of version 1.12.0.
func TestVersionOfWorkspace(t *testing.T) {
	for existing, permitted := range map[string]bool{
		"1.12.0": true, "1.12.7": true, "1.11.4": false, "0.14.11": false, "latest": true, "~> 1.12.0": true, "~> 1.5": true, ">= 1.3, < 2": true, "1.12.0-beta1": true,
		"~> 1.11.0": false, ">= 1.13": false, "< 1.12.0": false, "nonsense": false,
	} {
		s := &tfetest.Service{Version: existing}
		s.Add("a", "remote")
		st := opener(t, s, Options{Name: "a", Here: true})()
		if err := st.Capabilities().Policy.Permit(t.Context(), store.Default, true, "1.12.0"); (err == nil) != permitted {
			t.Errorf("%s: %v", existing, err)
		}
	}
}

// TestProjectOfNewWorkspace checks that a workspace with a name is created in its project, which is created if it does
// not exist, as in Terraform, and that no answer about it may be lost.
func TestProjectOfNewWorkspace(t *testing.T) {
	for name, want := range map[string]string{"": "prj-1", "edge": "prj-2", "new": "prj-3"} {
		for n := 1; n <= 5; n++ {
			s := &tfetest.Service{Mode: "local"}
			c := &storetest.Interrupter{Handler: s}
			c.Interrupt(n, true)
			st := opener(t, c, Options{Name: "a", Named: true, Project: name})()
			if err := st.Capabilities().Named.Prepare(t.Context()); err != nil || s.Project("a") != want {
				t.Errorf("project %q, cut at %d: the workspace is in %q: %v\n%s", name, n, s.Project("a"), err, strings.Join(s.Requests(), "\n"))
			}
		}
	}
	s := &tfetest.Service{}
	s.Add("a", "local")
	if err := opener(t, s, Options{Name: "a", Named: true, Project: "new"})().Capabilities().Named.Prepare(t.Context()); err != nil || s.Project("a") != "prj-1" {
		t.Errorf("an existing workspace is in %q: %v", s.Project("a"), err)
	}
}

// TestEarlierVersions checks that earlier state versions on several pages are listed, read and, if the service permits
// it, deleted.
func TestEarlierVersions(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		s := &tfetest.Service{Mode: "local", Deletes: deletes}
		st := opener(t, s, Options{Prefix: "net-"})()
		var v store.Version
		for serial := range 5 {
			var err error
			if v, err = st.Put(t.Context(), "w", fmt.Appendf(nil, `{"serial":%d,"lineage":"l"}`, serial+1), v); err != nil {
				t.Fatal(err)
			}
		}
		kept := st.Capabilities().Service
		if none, err := kept.EarlierVersions(t.Context(), "x"); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
		all, err := kept.EarlierVersions(t.Context(), "w")
		if err != nil || len(all) != 4 || !all[0].Time.After(all[3].Time) {
			t.Fatalf("%v, %v", all, err)
		}
		if data, err := kept.ReadVersion(t.Context(), "w", all[3]); err != nil || string(data) != `{"serial":1,"lineage":"l"}` {
			t.Errorf("%s, %v", data, err)
		}
		for range 2 { // a version that no longer exists counts as deleted
			if err := kept.DeleteVersion(t.Context(), "w", all[3]); (err == nil) != deletes {
				t.Errorf("deletes %t: %v", deletes, err)
			}
		}
		if left, err := kept.EarlierVersions(t.Context(), "w"); err != nil || len(left) != map[bool]int{false: 4, true: 3}[deletes] {
			t.Errorf("deletes %t: %v, %v", deletes, left, err)
		}
		if data, err := kept.ReadVersion(t.Context(), "w", all[3]); err != nil || (data == nil) != deletes {
			t.Errorf("deletes %t: %s, %v", deletes, data, err)
		}
		if text := kept.DeleteCommand("w", all[0]); !strings.Contains(text, "/state-versions/"+all[0].ID+"/") || strings.Contains(text, tfetest.Token) {
			t.Error(text)
		}
	}
}
