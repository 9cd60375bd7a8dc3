package httpstore

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// jsonServer stores the JSON of a state, and returns it in another form: sorted and indented. It loses the answer of the
// n-th write; 0 for none.
type jsonServer struct {
	mu     sync.Mutex
	state  any
	writes int
	lose   int
}

func (s *jsonServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &s.state)
		if s.writes++; s.writes == s.lose {
			w.WriteHeader(http.StatusBadGateway)
		}
		return
	}
	if s.state == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	text, _ := json.MarshalIndent(s.state, "", "    ")
	_, _ = w.Write(text)
}

// TestServerKeepsJSON checks that a run can write its state several times, such as interim states, if the server stores
// the JSON of a state and not its bytes. A write whose answer is lost counts. A state of another writer is not
// overwritten.
func TestServerKeepsJSON(t *testing.T) {
	for lose := range 4 {
		server := &jsonServer{lose: lose}
		url := httptest.NewServer(server)
		t.Cleanup(url.Close)
		open := func() store.Store {
			st, err := Driver.Open(ctx, store.Settings{Config: config(t, map[string]cty.Value{"address": cty.StringVal(url.URL), "retry_wait_min": cty.NumberIntVal(0)})})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		st, other := open(), open()
		v := store.Version("")
		for _, text := range []string{`{"serial":1,"lineage":"l","n":1.50}`, `{"serial":2,"lineage":"l","n":1.50}`, `{"serial":3,"lineage":"l","n":1.50}`} {
			next, err := st.Put(ctx, store.Default, []byte(text), v)
			if err != nil {
				t.Fatalf("lost %d: %s: %v", lose, text, err)
			}
			v = next
			if data, now, err := st.Get(ctx, store.Default); err != nil || now != v || !jsontext.Equivalent(data, []byte(text)) {
				t.Errorf("lost %d: there is %s of version %s, put as %s: %v", lose, data, now, v, err)
			}
		}
		_, v2, err := other.Get(ctx, store.Default)
		if err == nil {
			_, err = other.Put(ctx, store.Default, []byte(`{"serial":4,"lineage":"l"}`), v2)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Put(ctx, store.Default, []byte(`{"serial":4,"lineage":"x"}`), v); err == nil || !strings.Contains(err.Error(), "changed by someone else") {
			t.Errorf("lost %d: overwrote the state of another writer: %v", lose, err)
		}
	}
}
