package remotestore

import (
	"encoding/json"
	"strings"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// reason begins that of a lock which has its holder behind it.
const reason = "Locked by Lethe "

// holding is who has a lock, as the reason for it says.
type holding struct {
	store.LockInfo
	Made bool `json:",omitempty"` // the workspace was made for the lock
}

// mostReason is how long a reason may be.
const mostReason = 255

// text is the reason. A user whose name is long is shortened.
func (h holding) text() string {
	for {
		text, err := json.Marshal(h)
		if err != nil {
			panic(err) // a year past 9999
		}
		over := len(reason) + len(text) - mostReason
		if over <= 0 || h.Who == "" {
			return reason + string(text)
		}
		h.Who = strings.ToValidUTF8(h.Who[:max(0, len(h.Who)-over)], "")
	}
}

// holder reads who has a lock; nil where there is none. Of those that others took, the ID is ORGANIZATION/WORKSPACE, as
// Terraform has it.
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

// held is the error for a lock that another has.
func (r *remote) held(name string, h *holding, err error) *store.LockError {
	info := h.LockInfo
	if info.Path = r.path(name); info.ID == "" {
		info.ID = info.Path
	}
	info.KnownAs(info.Path)
	return &store.LockError{Held: &info, Err: err}
}
