package store

import (
	"context"
	"errors"
	"fmt"
)

// Parted is a store that gives and takes a part of a state: the objects of some resources, by their addresses without
// keys, with all outputs and results of conditions. A part is a state like others, which has no other objects.
type Parted interface {
	// Review tells which resources a state has, and for which of them nothing is left to do. The error is ErrWhole for
	// a state that has no parts, such as one that is not there yet.
	Review(ctx context.Context, workspace string, stamps map[string]Stamp) (*Review, error)
	// GetPart is Get for a part. The version is that of the whole state.
	GetPart(ctx context.Context, workspace string, resources []string) ([]byte, Version, error)
	// PutPart is Put for a part, and for stamps. After an error that leaves open whether the state was written, the
	// version is the one that it then has; "" where no request was made that would have written it.
	PutPart(ctx context.Context, workspace string, p Part, prev Version) (Version, error)
}

// Part is what is written of a state.
type Part struct {
	Whole     bool             // Data is all of it
	Resources []string         // the resources that Data has, or had
	Data      []byte           // nil: nothing changes but stamps
	Stamps    map[string]Stamp // of those for which a run left nothing to do
}

// Stamp says what a resource, an output, or a condition is made from, beside what the state has of it. A store keeps a digest
// of it and of the objects of all these resources: that is the same as long as nothing of it was changed, however that came.
type Stamp struct {
	Config string   // a digest of what the configuration says
	Of     []string // the resources that it refers to
}

// Review is the answer of Parted.Review: the resources of a state, and which of them are as the stamps say.
type Review struct {
	Version   Version
	Resources []string        // that have objects, sorted
	Same      map[string]bool // those of the stamps that were kept just so
}

// OutputStamp is the name of the stamp of a root output.
func OutputStamp(name string) string { return "output " + name }

// ConditionsStamp is the name of the stamp of what has conditions and no rows: a check block, or an output or a variable of
// a module.
func ConditionsStamp(address string) string { return "conditions of " + address }

// PartsOf is what a store can do with parts of its states.
func PartsOf(s Store) (Parted, bool) {
	p, ok := As[Parted](s)
	if c, is := p.(*careful); is {
		_, err := c.parted()
		ok = err == nil
	}
	return p, ok
}

// parted finds what can be done with parts of the store within.
func (c *careful) parted() (Parted, error) {
	p, ok := As[Parted](c.Remote)
	if !ok {
		return nil, ErrWhole
	}
	return p, nil
}

// Review implements Parted.
func (c *careful) Review(ctx context.Context, workspace string, stamps map[string]Stamp) (r *Review, err error) {
	p, err := c.parted()
	if err != nil {
		return nil, err
	}
	err = c.tries.Do(ctx, func() error {
		r, err = p.Review(ctx, workspace, stamps)
		return err
	})
	return r, err
}

// GetPart implements Parted.
func (c *careful) GetPart(ctx context.Context, workspace string, resources []string) (data []byte, v Version, err error) {
	p, err := c.parted()
	if err != nil {
		return nil, "", err
	}
	err = c.tries.Do(ctx, func() error {
		data, v, err = p.GetPart(ctx, workspace, resources)
		return err
	})
	return data, v, err
}

// PutPart implements Parted.
func (c *careful) PutPart(ctx context.Context, workspace string, part Part, prev Version) (v Version, err error) {
	p, err := c.parted()
	if err != nil {
		return "", err
	}
	versions, ok := As[Versioner](c.Remote)
	if !ok {
		return "", errors.New("the backend cannot say which version a state has")
	}
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
