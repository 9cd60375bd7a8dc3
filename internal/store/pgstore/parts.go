package pgstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// Review returns the resources of a state, and the resources whose stored stamps (digests of their sources) equal the
// given stamps.
func (s *rowStore) Review(ctx context.Context, workspace string, stamps map[string]store.Stamp) (*store.Review, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	var h header
	var all map[string]known
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		h, all = header{}, map[string]known{}
		err := batch(ctx, conn, slices.Values([]request{begin("REPEATABLE READ READ ONLY"), s.heading(workspace, "", "", &h), s.listing(workspace, all), {sql: "COMMIT"}}))
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	if err == nil {
		err = s.layout(workspace, h.place)
	}
	if err != nil {
		return nil, s.shape(err)
	}
	if !h.summed || h.version() == "" {
		return nil, store.ErrNotPartial
	}
	r := &store.Review{Version: h.version(), Same: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].sum != (rows.Sum{}) && !strings.HasPrefix(name, store.OutputStamp("")) {
			r.Resources = append(r.Resources, name)
		}
	}
	for name, m := range stamps {
		if is := all[name]; is.stamp != "" && is.stamp == stampOf(name, m, all) {
			r.Same[name] = true
		}
	}
	return r, nil
}

// GetPart returns the objects of some resources of a state, and the version of the whole state. It returns
// store.ErrNotPartial if the state does not exist or cannot be divided, and a *store.DamagedError if another program
// changed or removed rows of the part. It does not read rows of other resources.
func (s *rowStore) GetPart(ctx context.Context, workspace string, resources []string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	data, h, err := s.read(ctx, selected{workspace: workspace, part: append([]string{}, resources...)})
	if err == nil {
		err = s.layout(workspace, h.place)
	}
	if err == nil && (!h.summed || h.version() == "") {
		err = store.ErrNotPartial
	}
	if err != nil {
		return nil, "", err
	}
	return data, h.version(), nil
}

// PutPart replaces the objects of some resources in a state, if the state has the version prev. For another version it
// returns a *store.StaleError.
func (s *rowStore) PutPart(ctx context.Context, workspace string, p store.Part, prev store.Version) (store.Version, error) {
	w := writing{workspace: workspace, data: p.Data, stamps: p.Stamps, prev: prev}
	if !p.Whole && p.Data != nil {
		w.part = append([]string{}, p.Resources...)
	}
	return s.put(ctx, w)
}
