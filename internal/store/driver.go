package store

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/schema"
)

// Driver is a kind of store that users can choose by name in a backend block, such as "s3".
type Driver struct {
	Name   string
	Schema *schema.Block // the schema of the driver's settings
	Open   func(ctx context.Context, s Settings) (Store, error)
}

// Drivers are the kinds of stores that a program offers.
type Drivers []Driver

// Find returns the driver with that name. It returns false if no driver has the name.
func (d Drivers) Find(name string) (Driver, bool) {
	i := slices.IndexFunc(d, func(d Driver) bool { return d.Name == name })
	if i < 0 {
		return Driver{}, false
	}
	return d[i], true
}

// Names returns the names of the drivers, sorted.
func (d Drivers) Names() []string {
	var out []string
	for _, d := range d {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return out
}
