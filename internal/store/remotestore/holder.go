package remotestore

import (
	"encoding/json"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// reason is the prefix of a lock reason that this package writes. The encoded holder follows it.
const reason = "Locked by Lethe "

// holding is the holder of a lock, as encoded in the lock's reason.
type holding struct {
	store.LockInfo
	Made bool `json:",omitempty"` // the workspace was made for the lock
}

// mostReason is the maximum length of a lock reason, in bytes. The service accepts no longer one.
const mostReason = 255

// text returns the reason. It shortens the name of the user if the reason is too long.
func (h holding) text() string {
	for {
		text, err := json.Marshal(h)
		if err != nil {
			panic(err) // the year is after 9999
		}
		excess := len(reason) + len(text) - mostReason
		if excess <= 0 || h.Who == "" {
			return reason + string(text)
		}
		h.Who = strings.ToValidUTF8(h.Who[:max(0, len(h.Who)-excess)], "")
	}
}

// holder returns the holder of a workspace's lock, or nil if it is not locked. For locks of other programs it has no
// ID, and the reason as Info.
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

// held returns the error for a lock with another holder. A holder without an ID gets the ID ORGANIZATION/WORKSPACE, as
// in Terraform.
func (r *remote) held(name string, h *holding, err error) *store.LockError {
	info := h.LockInfo
	if info.Path = r.path(name); info.ID == "" {
		info.ID = info.Path
	}
	info.KnownAs(info.Path)
	return &store.LockError{Held: &info, Err: err}
}
