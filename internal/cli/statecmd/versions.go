package statecmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
)

// mostVersions is the maximum number of earlier versions that History lists. A service may keep more.
const mostVersions = 20

// versions is the history of a state in a service that keeps earlier versions of objects. The service does not know the
// serials, so History reads the contents of the versions. Their writers are unknown.
type versions struct {
	service store.ServiceVersions
	states  *states.States
	now     *state.Snapshot // the current state
	bag     *diag.Bag       // receives a warning for a version that cannot be read

	list    []store.ServiceVersion          // the earlier versions, newest first; set by find
	serials map[uint64]store.ServiceVersion // the listed versions by serial; nil before History
}

// find lists the earlier versions of the state in the service, without the versions of its journal. It returns false if
// the service keeps no earlier version of the state.
func (v *versions) find(ctx context.Context, workspace string) (bool, error) {
	list, err := v.service.EarlierVersions(ctx, workspace)
	slices.SortStableFunc(list, func(a, b store.ServiceVersion) int { return b.Time.Compare(a.Time) })
	v.list = slices.DeleteFunc(list, func(v store.ServiceVersion) bool { return v.Journal })
	return len(v.list) > 0, err
}

// History lists the current state, and then the earlier versions, the latest first. Of versions with equal serials it
// lists only the latest. It omits versions with the lineage and the serial of the current state, and a version that
// cannot be decoded, with a warning in v.bag. An error means that a version could not be fetched. It implements
// store.Historian.
func (v *versions) History(ctx context.Context, workspace string) ([]store.Past, error) {
	v.serials = map[uint64]store.ServiceVersion{}
	out := []store.Past{{Serial: v.now.Serial, Lineage: v.now.Lineage}}
	for _, at := range v.list {
		if len(out) > mostVersions {
			break
		}
		data, err := v.service.ReadVersion(ctx, workspace, at)
		if err != nil {
			return nil, err
		}
		var aside diag.Bag
		s, ok := v.states.OpenState(ctx, data, "", &aside)
		switch {
		case data == nil:
			continue
		case !ok:
			v.bag.Add(diag.Warningf("Former states not counted", "The version %s of %s cannot be read, so the history omits it. %s", at.ID, at.Name, aside.List()[0].Detail))
			continue
		}
		if _, twice := v.serials[s.Serial]; !twice && (s.Serial != v.now.Serial || s.Lineage != v.now.Lineage) {
			v.serials[s.Serial] = at
			out = append(out, store.Past{Serial: s.Serial, Lineage: s.Lineage, Time: at.Time})
		}
	}
	// Services have times of whole seconds. Serials order the states of one second.
	slices.SortStableFunc(out[1:], func(a, b store.Past) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Serial, a.Serial))
	})
	return out, nil
}

// Former returns the content of the earlier version with the serial of p, or nil if History does not list such a
// version. An error means that the version could not be fetched. It implements store.Historian.
func (v *versions) Former(ctx context.Context, workspace string, p store.Past) ([]byte, error) {
	if v.serials == nil {
		if _, err := v.History(ctx, workspace); err != nil {
			return nil, err
		}
	}
	at, ok := v.serials[p.Serial]
	if !ok {
		return nil, nil
	}
	data, err := v.service.ReadVersion(ctx, workspace, at)
	if err == nil && data == nil {
		err = fmt.Errorf("the version %s of %s was deleted meanwhile", at.ID, at.Name)
	}
	return data, err
}
