package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/registry"
)

// direct is the registry that the address of a provider names.
type direct struct{ *registry.Registry }

func (direct) String() string { return "the provider's registry" }

func (d direct) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	list, warnings, err := d.Providers(ctx, a)
	if err = absent(err); err != nil {
		return nil, nil, err
	}
	for _, v := range list {
		all = append(all, found{version: v.Version, unfit: unfit(v), remote: func(ctx context.Context) (*registry.Package, error) {
			return d.Provider(ctx, a, v.Version, Platform())
		}})
	}
	return all, warnings, nil
}

// unfit says why a version is of no use here: it is for other platforms, or speaks no protocol that Lethe speaks.
func unfit(v registry.Version) string {
	if v.Platforms != nil && !slices.Contains(v.Platforms, Platform()) {
		return "is not made for " + Platform()
	}
	if v.Protocols != nil && !slices.ContainsFunc(v.Protocols, func(p string) bool { return strings.HasPrefix(p, "5.") || strings.HasPrefix(p, "6.") }) {
		return fmt.Sprintf("speaks version %s of the plugin protocol, and Lethe speaks 5 and 6", strings.Join(v.Protocols, " and "))
	}
	return ""
}

// absent is no error where it says that there is none of that name.
func absent(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

// network is a network mirror.
type network struct{ registry.Mirror }

func (n network) String() string { return "the network mirror " + download.Show(n.URL) }

func (n network) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	list, err := n.Providers(ctx, a)
	if err = absent(err); err != nil {
		return nil, nil, err
	}
	for _, v := range list {
		all = append(all, found{version: v.Version, remote: func(ctx context.Context) (*registry.Package, error) {
			return n.Provider(ctx, a, v.Version, Platform())
		}})
	}
	return all, nil, nil
}

// unsupported is a method of the CLI configuration that there is not yet.
type unsupported string

func (u unsupported) String() string { return "the " + string(u) + " of the CLI configuration" }

func (u unsupported) list(context.Context, addr.Provider) (all []found, warnings []string, err error) {
	return nil, nil, fmt.Errorf("the CLI configuration says that it is installed from an %s, which is not supported", string(u))
}
