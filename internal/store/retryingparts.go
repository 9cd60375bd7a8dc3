package store

import (
	"context"
	"fmt"
)

// Review returns the resources of a state, and the resources whose stored stamps (digests of their sources) equal the
// given stamps.
func (c *retrying) Review(ctx context.Context, workspace string, stamps map[string]Stamp) (r *Review, err error) {
	p := c.Remote.Capabilities().Parts
	err = c.tries.Do(ctx, func() error {
		r, err = p.Review(ctx, workspace, stamps)
		return err
	})
	return r, err
}

// GetPart returns the objects of some resources of a state, and the version of the whole state.
func (c *retrying) GetPart(ctx context.Context, workspace string, resources []string) (data []byte, v Version, err error) {
	p := c.Remote.Capabilities().Parts
	err = c.tries.Do(ctx, func() error {
		data, v, err = p.GetPart(ctx, workspace, resources)
		return err
	})
	return data, v, err
}

// PutPart replaces the objects of some resources in a state, if the state has the version prev. For another version it
// returns a *StaleError.
func (c *retrying) PutPart(ctx context.Context, workspace string, part Part, prev Version) (v Version, err error) {
	p, versions := c.Remote.Capabilities().Parts, c.Remote.Capabilities().Versioner
	lost := Version("")
	err = c.tries.Write(ctx, func(ctx context.Context) error {
		if lost != "" {
			switch now, err := versions.Version(ctx, workspace); {
			case err != nil:
				return err
			case now == lost:
				v = now
				return nil
			case now != prev:
				return &StaleError{Workspace: workspace, Missing: now == ""}
			}
		}
		var err error
		if v, err = p.PutPart(ctx, workspace, part, prev); unanswered(err) && v != "" {
			lost = v
		}
		return err
	})
	if lost != "" && unanswered(err) {
		err = fmt.Errorf("whether the state was written is not known: %w", err)
	}
	return v, err
}
