package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/consulstore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
	"github.com/zclconf/go-cty/cty"
)

// consul is an agent of Consul: the part about keys and sessions that backends use.
type consul struct {
	sync.Mutex
	keys     map[string]*consulKey
	sessions map[string]*consulSession
	delays   map[string]time.Time // the time until which a key whose session has ended stays locked
	index    uint64
}

type consulKey struct {
	LockIndex, Flags, CreateIndex, ModifyIndex uint64
	Key                                        string
	Value                                      []byte
	Session                                    string `json:",omitempty"`
}

type consulSession struct {
	ID, Name, Behavior, TTL, Node string
	LockDelay                     time.Duration
	ends                          time.Time
}

// consulOp is a part of a transaction, or a request with the same content.
type consulOp struct {
	Verb, Key, Session string
	Value              []byte
	Index, Flags       uint64
}

func (c *consul) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if token := r.Header.Get("X-Consul-Token"); token != "canary-4711" {
		http.Error(w, "Permission denied", http.StatusForbidden)
		return
	}
	c.Lock()
	defer c.Unlock()
	c.expire()
	q := r.URL.Query()
	say := func(status int, what any) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Consul-Index", strconv.FormatUint(max(c.index, 1), 10))
		w.Header().Set("X-Consul-LastContact", "0")
		w.Header().Set("X-Consul-KnownLeader", "true")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(what)
	}
	key, isKey := strings.CutPrefix(r.URL.Path, "/v1/kv/")
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(q.Get(name), 10, 64)
		return n
	}
	switch {
	case isKey && r.Method == http.MethodGet:
		c.wait(r, number("index"), key)
		c.read(say, key, q.Has("recurse"), q.Has("keys"))
	case isKey:
		op := consulOp{Verb: "set", Key: key, Value: body, Index: number("cas"), Session: q.Get("acquire") + q.Get("release"), Flags: number("flags")}
		switch {
		case len(body) > 512<<10:
			http.Error(w, "Request body too large, max size: 524288 bytes", http.StatusRequestEntityTooLarge)
			return
		case q.Has("acquire"):
			op.Verb = "lock"
		case q.Has("release"):
			op.Verb = "unlock"
		case r.Method == http.MethodDelete && q.Has("recurse"):
			op.Verb = "delete-tree"
		case r.Method == http.MethodDelete && q.Has("cas"):
			op.Verb = "delete-cas"
		case r.Method == http.MethodDelete:
			op.Verb = "delete"
		case q.Has("cas"):
			op.Verb = "cas"
		}
		say(http.StatusOK, c.apply(op) == "")
	case r.URL.Path == "/v1/txn":
		c.transact(w, say, body)
	case r.URL.Path == "/v1/session/create":
		c.index++
		s := &consulSession{}
		var given struct{ LockDelay any }
		_ = json.Unmarshal(body, &given)
		var settings struct{ Name, Behavior, TTL string }
		_ = json.Unmarshal(body, &settings)
		s.Name, s.Behavior, s.TTL, s.Node = settings.Name, settings.Behavior, settings.TTL, "n"
		s.ID, s.LockDelay = fmt.Sprintf("5e550000-0000-0000-0000-%012d", c.index), 15*time.Second
		if d, err := time.ParseDuration(fmt.Sprint(given.LockDelay)); err == nil {
			s.LockDelay = d
		}
		s.renew()
		c.sessions[s.ID] = s
		say(http.StatusOK, map[string]string{"ID": s.ID})
	case strings.HasPrefix(r.URL.Path, "/v1/session/"):
		verb, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/session/"), "/")
		s := c.sessions[id]
		switch {
		case verb == "destroy":
			c.end(id)
			say(http.StatusOK, true)
		case verb == "renew" && s == nil:
			http.Error(w, "Session id not found", http.StatusNotFound)
		case verb == "info" && s == nil:
			say(http.StatusOK, []any{})
		default:
			if verb == "renew" {
				s.renew()
			}
			say(http.StatusOK, []*consulSession{s})
		}
	default:
		http.Error(w, "Invalid URL path: not a recognized HTTP API endpoint", http.StatusNotFound)
	}
}

func (s *consulSession) renew() {
	if ttl, err := time.ParseDuration(s.TTL); err == nil {
		s.ends = time.Now().Add(ttl)
	}
}

// expire ends the sessions that were not renewed in time.
func (c *consul) expire() {
	for id, s := range c.sessions {
		if !s.ends.IsZero() && time.Now().After(s.ends) {
			c.end(id)
		}
	}
}

// end ends a session and releases its locks, which stay locked for the delay of the session.
func (c *consul) end(id string) {
	s := c.sessions[id]
	delete(c.sessions, id)
	for key, k := range c.keys {
		if s == nil || k.Session != id {
			continue
		}
		c.index++
		c.delays[key] = time.Now().Add(s.LockDelay)
		k.Session, k.ModifyIndex = "", c.index
		if s.Behavior == "delete" {
			delete(c.keys, key)
		}
	}
}

// wait waits until a key changes after an index, like a blocking query. It does not wait if the index is 0, and at most
// for the time in the request or five minutes.
func (c *consul) wait(r *http.Request, index uint64, key string) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil || wait == 0 {
		wait = 5 * time.Minute
	}
	last := func() uint64 {
		if k := c.keys[key]; k != nil {
			return k.ModifyIndex
		}
		return c.index
	}
	for end := time.Now().Add(wait); index > 0 && last() <= index && time.Now().Before(end) && r.Context().Err() == nil; {
		c.Unlock()
		time.Sleep(20 * time.Millisecond) // wait before the next check of the key
		c.Lock()
		c.expire()
	}
}

func (c *consul) read(say func(int, any), key string, recurse, names bool) {
	all := []*consulKey{}
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		if name == key || (recurse || names) && strings.HasPrefix(name, key) {
			all = append(all, c.keys[name])
		}
	}
	switch {
	case len(all) == 0:
		say(http.StatusNotFound, nil)
	case names:
		list := []string{}
		for _, k := range all {
			list = append(list, k.Key)
		}
		say(http.StatusOK, list)
	default:
		say(http.StatusOK, all)
	}
}

// apply executes a part of a transaction. It returns the reason if the part fails, and "" otherwise.
func (c *consul) apply(op consulOp) string {
	k := c.keys[op.Key]
	now, held := uint64(0), ""
	if k != nil {
		now, held = k.ModifyIndex, k.Session
	}
	switch op.Verb {
	case "cas", "delete-cas", "check-index":
		if now != op.Index {
			return fmt.Sprintf("failed to %s key %q, index is stale", op.Verb, op.Key)
		}
	case "lock":
		if c.sessions[op.Session] == nil || held != "" && held != op.Session || time.Now().Before(c.delays[op.Key]) {
			return fmt.Sprintf("failed to lock key %q, lock is already held", op.Key)
		}
	case "unlock":
		if op.Session == "" || held != op.Session {
			return fmt.Sprintf("failed to unlock key %q, lock isn't held, or is held by another session", op.Key)
		}
	case "check-session":
		if held != op.Session {
			return fmt.Sprintf("failed session check for key %q, current session %q != %q", op.Key, held, op.Session)
		}
	case "check-not-exists":
		if k != nil {
			return fmt.Sprintf("key %q exists", op.Key)
		}
	case "get":
		if k == nil {
			return fmt.Sprintf("key %q doesn't exist", op.Key)
		}
	}
	switch op.Verb {
	case "set", "cas", "lock", "unlock":
		c.index++
		next := &consulKey{Key: op.Key, Value: op.Value, Flags: op.Flags, CreateIndex: c.index, ModifyIndex: c.index, Session: held}
		if k != nil {
			next.CreateIndex, next.LockIndex = k.CreateIndex, k.LockIndex
		}
		if op.Verb == "lock" && held == "" {
			next.LockIndex++
			next.Session = op.Session
		}
		if op.Verb == "unlock" {
			next.Session = ""
		}
		c.keys[op.Key] = next
	case "delete", "delete-cas", "delete-tree":
		c.index++
		for name := range c.keys {
			if name == op.Key || op.Verb == "delete-tree" && strings.HasPrefix(name, op.Key) {
				delete(c.keys, name)
			}
		}
	}
	return ""
}

func (c *consul) transact(w http.ResponseWriter, say func(int, any), body []byte) {
	var ops []struct{ KV *consulOp }
	if err := json.Unmarshal(body, &ops); err != nil || len(ops) > 64 || len(body) > 512<<10 {
		if len(body) > 512<<10 {
			http.Error(w, "Request body too large, max size: 524288 bytes", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, fmt.Sprint("Failed to parse body: ", err, len(ops)), http.StatusBadRequest)
		return
	}
	before, index := maps.Clone(c.keys), c.index
	results, failures := []any{}, []any{}
	for i, op := range ops {
		if what := c.apply(*op.KV); what != "" {
			failures = append(failures, map[string]any{"OpIndex": i, "What": what})
			continue
		}
		if k := c.keys[op.KV.Key]; k != nil {
			results = append(results, map[string]any{"KV": k})
		}
	}
	if len(failures) > 0 {
		c.keys, c.index = before, index
		say(http.StatusConflict, map[string]any{"Results": nil, "Errors": failures})
		return
	}
	say(http.StatusOK, map[string]any{"Results": results, "Errors": nil})
}

func newConsul() *consul {
	return &consul{keys: map[string]*consulKey{}, sessions: map[string]*consulSession{}, delays: map[string]time.Time{}}
}

// startConsul runs an agent with a handler until the end of the test, and returns its URL.
func startConsul(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	server.Config.ErrorLog = nil
	t.Cleanup(func() {
		server.CloseClientConnections() // ends requests that wait for changes
		server.Close()
	})
	return server.URL
}

// consulOpener returns a function that opens the store at an address, with the settings in more.
func consulOpener(t *testing.T, address string, more map[string]cty.Value) func() store.Store {
	attrs := map[string]cty.Value{"path": cty.StringVal("net/a"), "address": cty.StringVal(address), "access_token": cty.StringVal("canary-4711")}
	maps.Copy(attrs, more)
	return func() store.Store {
		config, err := consulstore.Driver.Schema.Coerce(cty.ObjectVal(attrs))
		check(t, err)
		st, err := consulstore.Driver.Open(ctx, store.Settings{Config: config, Schema: consulstore.Driver.Schema, Getenv: os.Getenv, Dir: t.TempDir()})
		check(t, err)
		return st
	}
}

func TestConsul(t *testing.T) {
	for _, zip := range []bool{false, true} {
		more := map[string]cty.Value{"gzip": cty.BoolVal(zip)}
		t.Run(fmt.Sprintf("contract, gzip %t", zip), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() store.Store {
				return consulOpener(t, startConsul(t, newConsul()), more)
			})
		})
	}
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{Handler: newConsul()}
			return consulOpener(t, startConsul(t, c), nil), c
		})
	})
	t.Run("no locks", func(t *testing.T) {
		st := consulOpener(t, startConsul(t, newConsul()), map[string]cty.Value{"lock": cty.False})()
		for range 2 {
			_, err := st.Lock(ctx, "w", store.NewLockInfo("o", "1"))
			check(t, err)
		}
	})
}

// TestConsulChunks kills writers of states that are too large for a key at each of their requests. A reader sees the
// old state or the new state, and no replaced part remains.
func TestConsulChunks(t *testing.T) {
	for _, sizes := range [][2]int{{1, 1}, {0, 1}, {1, 0}} {
		for _, late := range []bool{false, true} {
			for n, done := 1, false; !done; n++ {
				c := newConsul()
				f := &failing{RoundTripper: inProcess{c}, left: 1 << 30}
				st := consulstore.New(consulstore.Options{Client: &http.Client{Transport: f}, Server: mustURL(t, "http://agent"), Header: http.Header{"X-Consul-Token": {"canary-4711"}}, Path: "net/a"})
				before, after := large(1, sizes[0]), large(2, sizes[1])
				v, err := st.Put(ctx, "w", before, "")
				check(t, err)
				f.left, f.late = n, late
				_, _ = st.Put(ctx, "w", after, v) // ignore the error: the request that is cut fails
				done = f.left > 0
				f.left = 1 << 30
				got, _, err := st.Get(ctx, "w")
				check(t, err)
				if string(got) != string(before) && string(got) != string(after) || done && string(got) != string(after) {
					t.Fatalf("%v, killed at %d, late %t: there is neither the old state nor the new one", sizes, n, late)
				}
				check(t, st.Delete(ctx, "w"))
				if len(c.keys) > 0 {
					t.Errorf("%v, killed at %d, late %t: %d keys are left", sizes, n, late, len(c.keys))
				}
			}
		}
	}
}

// TestConsulTorn checks that a state with a missing part can be replaced by a copy from elsewhere.
func TestConsulTorn(t *testing.T) {
	c := newConsul()
	torn(t, consulOpener(t, startConsul(t, c), nil)(), func() {
		for key := range c.keys {
			if strings.HasSuffix(key, "/1") {
				delete(c.keys, key)
			}
		}
	})
}

// torn checks the errors about a state with a missing part, and that a write replaces the state. lose removes the part.
func torn(t *testing.T, st store.Store, lose func()) {
	_, err := st.Put(ctx, "w", large(1, 2), "")
	check(t, err)
	lose()
	var damaged *store.DamagedError
	if _, _, err = st.Get(ctx, "w"); !errors.As(err, &damaged) {
		t.Fatal(err)
	}
	if _, err = st.Put(ctx, "w", large(2, 0), ""); !errors.As(err, new(*store.StaleError)) {
		t.Error(err)
	}
	_, err = st.Put(ctx, "w", large(2, 0), damaged.Version)
	check(t, err)
	if got, _, err := st.Get(ctx, "w"); err != nil || string(got) != string(large(2, 0)) {
		t.Error(err)
	}
}

// TestConsulRace checks that writers of large states without a lock do not remove each other's parts.
func TestConsulRace(t *testing.T) {
	c := newConsul()
	open := consulOpener(t, startConsul(t, c), nil)
	check2 := func(_ store.Version, err error) { check(t, err) }
	check2(open().Put(ctx, "w", large(0, 1), ""))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			st := open()
			for range 5 {
				_, v, err := st.Get(ctx, "w")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = st.Put(ctx, "w", large(rand.IntN(2), 1), v)
			}
		})
	}
	wg.Wait()
	if got, _, err := open().Get(ctx, "w"); err != nil || string(got) != string(large(0, 1)) && string(got) != string(large(1, 1)) {
		t.Errorf("there is neither of the states: %v", err)
	}
	if len(c.keys) != 4 {
		t.Errorf("%d keys are left, not one and its three parts", len(c.keys))
	}
}

// TestConsulLostSession ends the session of a lock, as happens when it cannot be renewed in time. The holder takes the
// lock again.
func TestConsulLostSession(t *testing.T) {
	t.Parallel()
	c := newConsul()
	open := consulOpener(t, startConsul(t, c), nil)
	st, who := open(), store.NewLockInfo("first", "1")
	unlock, err := st.Lock(ctx, "w", who)
	check(t, err)
	const key = "net/a-env:w/.lock"
	session := func() string {
		c.Lock()
		defer c.Unlock()
		return c.keys[key].Session
	}
	first := session()
	c.Lock()
	c.sessions[first].LockDelay = time.Millisecond
	c.end(first)
	c.Unlock()
	waittest.Until(t, "the lock is taken again", func() bool { return session() != "" })
	if now := session(); now == first {
		t.Fatalf("the lock is not taken again: %q", now)
	}
	if _, err := open().Lock(ctx, "w", store.NewLockInfo("other", "1")); err == nil || !strings.Contains(err.Error(), who.ID) {
		t.Errorf("the lock is not that of the first: %v", err)
	}
	check(t, unlock(ctx))
	if len(c.keys) > 0 || len(c.sessions) > 0 {
		t.Errorf("%d keys and %d sessions are left", len(c.keys), len(c.sessions))
	}
}

// TestConsulChunksMixed lets Lethe and Terraform write and read a state that is too large for a key.
func TestConsulChunksMixed(t *testing.T) {
	t.Parallel()
	address := startConsul(t, newConsul())
	l, tf := pair(t, place{"terraform {\n  backend \"consul\" {\n    path = \"big\"\n  }\n}\n", []string{"CONSUL_HTTP_ADDR=" + address, "CONSUL_HTTP_TOKEN=canary-4711"}})
	exchange(t, l, tf)
}
