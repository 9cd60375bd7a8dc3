package remotestore

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/remotestore/tfetest"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
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
		o.Client = &http.Client{}
		return store.Careful(newRemote(o), store.Tries{Again: 3, Shortest: time.Millisecond, Longest: time.Millisecond})
	}
}

// TestLongReason: a reason for a lock is short enough for the service, and tells the ID.
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
	if names := strings.Join(s.Requests(), "\n"); !strings.Contains(names, "DELETE") {
		t.Errorf("the workspace that was made for the lock is left:\n%s", names)
	}
}

func TestContract(t *testing.T) {
	for name, o := range map[string]Options{"name": {Name: "a"}, "prefix": {Prefix: "net-"}, "tags": {Tags: []string{"app", "net"}}, "bindings": {Bindings: map[string]string{"team": "net", "stage": "1"}}, "project": {Project: "prj-2"}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, &tfetest.Service{}, o) })
		})
		t.Run(name+" cut", func(t *testing.T) {
			storetest.RunCut(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
				c := &storetest.Cutter{Handler: &tfetest.Service{}}
				return opener(t, c, o), c
			})
		})
	}
}
