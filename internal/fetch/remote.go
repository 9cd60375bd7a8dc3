package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/oci"
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
		all = append(all, found{version: v.Version, platforms: v.Platforms, unfit: unspoken(v.Protocols), get: remote(func(ctx context.Context, platform string) (*registry.Package, error) {
			return d.Provider(ctx, a, v.Version, platform)
		})})
	}
	return all, warnings, nil
}

// remote makes a package of what a server says of it.
func remote(ask func(ctx context.Context, platform string) (*registry.Package, error)) func(context.Context, string) (parcel, error) {
	return func(ctx context.Context, platform string) (parcel, error) {
		pkg, err := ask(ctx, platform)
		return parcel{remote: pkg}, err
	}
}

// unspoken says that a version speaks no protocol that Lethe speaks.
func unspoken(protocols []string) string {
	if protocols == nil || slices.ContainsFunc(protocols, func(p string) bool { return strings.HasPrefix(p, "5.") || strings.HasPrefix(p, "6.") }) {
		return ""
	}
	return fmt.Sprintf("speaks version %s of the plugin protocol, and Lethe speaks 5 and 6", strings.Join(protocols, " and "))
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
		all = append(all, found{version: v.Version, get: remote(func(ctx context.Context, platform string) (*registry.Package, error) {
			return n.Provider(ctx, a, v.Version, platform)
		})})
	}
	return all, nil, nil
}

// images is an OCI registry, or several, with a repository for each provider.
type images struct {
	*oci.Client
	repository func(addr.Provider) string
}

func (images) String() string { return "the OCI mirror" }

func (o images) list(ctx context.Context, a addr.Provider) (all []found, warnings []string, err error) {
	name := o.repository(a)
	vs, err := o.Versions(ctx, name)
	if err != nil && !errors.Is(err, oci.ErrNotFound) {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, v := range vs {
		all = append(all, found{version: v, get: remote(func(ctx context.Context, platform string) (*registry.Package, error) {
			blob, err := o.Provider(ctx, name, v, platform)
			if err != nil {
				return nil, err
			}
			return &registry.Package{Sum: blob.Sum, Save: blob.Save, Size: blob.Size}, nil
		})})
	}
	return all, nil, nil
}
