package storetest

import (
	"io"
	"net/http"
	"sync"

	"github.com/lethe-iac/lethe/internal/store"
)

// HTTP is a server for one state and its lock, with the protocol of the backend "http" of Terraform and OpenTofu. Its
// zero value is ready for use.
type HTTP struct {
	User, Password string // for basic authentication; an empty User disables it
	ETags          bool   // answers have ETags, and If-Match and If-None-Match are respected

	mu       sync.Mutex
	body     []byte
	serial   int
	lock     []byte
	requests []string
}

// Requests returns the methods of all requests so far.
func (h *HTTP) Requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.requests...)
}

// SetLock locks the state for another process with the lock ID id. If id is "", it unlocks the state.
func (h *HTTP) SetLock(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lock = nil
	if id != "" {
		h.lock = store.LockInfo{ID: id, Operation: "OperationTypeApply", Who: "other@elsewhere", Version: "1.0.0"}.Marshal()
	}
}

// ServeHTTP answers GET, POST, DELETE, LOCK and UNLOCK for one state, and records the method. If User is set, the
// request must have User and Password.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r.Method)
	if user, password, _ := r.BasicAuth(); h.User != "" && (user != h.User || password != h.Password) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.get(w)
	case http.MethodPost:
		h.post(w, r, body)
	case http.MethodDelete:
		h.body = nil
	case "LOCK":
		if h.lock != nil {
			h.locked(w)
			return
		}
		h.lock = body
	case "UNLOCK":
		if h.lock == nil || idOf(h.lock) != idOf(body) {
			h.locked(w)
			return
		}
		h.lock = nil
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func idOf(lock []byte) string {
	i, _ := store.ParseLockInfo(lock)
	return i.ID
}

func (h *HTTP) locked(w http.ResponseWriter) {
	w.WriteHeader(http.StatusLocked)
	_, _ = w.Write(h.lock)
}

func (h *HTTP) etag() string { return `"` + string(rune('a'+h.serial%26)) + `"` }

func (h *HTTP) get(w http.ResponseWriter) {
	if h.body == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if h.ETags {
		w.Header().Set("ETag", h.etag())
	}
	_, _ = w.Write(h.body)
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request, body []byte) {
	if id := r.URL.Query().Get("ID"); h.lock != nil && id != idOf(h.lock) {
		h.locked(w)
		return
	}
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if h.ETags && (match != "" && match != h.etag() || none == "*" && h.body != nil) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	h.body = body
	h.serial++
}
