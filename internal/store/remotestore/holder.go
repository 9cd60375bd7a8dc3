package remotestore

import (
	"encoding/json"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// reason is the beginning of the reason that this package gives for a lock. The encoded holder of the lock follows.
const reason = "Locked by Lethe "

// holding is the holder of a lock, in the form in which the reason of the lock contains it.
type holding struct {
	store.LockInfo
	Made bool `json:",omitempty"` // Lock has made the workspace only to lock it
}

// mostReason is the maximum length of the reason of a lock, in bytes. The service refuses longer reasons.
const mostReason = 255

// text returns the reason of the lock. It shortens the name of the user until the reason is short enough.
func (h holding) text() string {
	for {
		text, err := json.Marshal(h)
		if err != nil {
			panic(err) // fails only for a year after 9999
		}
		excess := len(reason) + len(text) - mostReason
		if excess <= 0 || h.Who == "" {
			return reason + string(text)
		}
		h.Who = strings.ToValidUTF8(h.Who[:max(0, len(h.Who)-excess)], "")
	}
}

// holder returns the holder of a workspace's lock, or nil if the workspace is not locked. For a lock of another
// program, the holder has no ID, and the reason of the lock is its Info.
func holder(w *workspace) *holding {
	if !w.Attributes.Locked {
		return nil
	}
	var h holding
	text, ours := strings.CutPrefix(w.Attributes.Reason, reason)
	if !ours || json.Unmarshal([]byte(text), &h) != nil || h.ID == "" {
		return &holding{LockInfo: store.LockInfo{Info: w.Attributes.Reason}}
	}
	return &h
}

// held returns the error for a lock that h holds. If h has no ID, the ID in the error is ORGANIZATION/WORKSPACE, as in
// Terraform.
func (r *remote) held(name string, h *holding, err error) *store.LockError {
	info := h.LockInfo
	if info.Path = r.path(name); info.ID == "" {
		info.ID = info.Path
	}
	info.KnownAs(info.Path)
	return &store.LockError{Held: &info, Err: err}
}
