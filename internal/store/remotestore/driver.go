package remotestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

func driver(name string, open func(context.Context, store.Settings) (store.Store, error), workspaces ...*schema.Attr) store.Driver {
	s := store.Schema(
		store.Attr("hostname", cty.String, "The host of the service: app.terraform.io if not set. For a cloud block TF_CLOUD_HOSTNAME."),
		store.Attr("organization", cty.String, "The organization. For a cloud block TF_CLOUD_ORGANIZATION."),
		store.SecretAttr("token", "The token. As a rule it comes from login, a credentials block, TF_TOKEN_..., or a credentials helper."),
	)
	s.Blocks = []*schema.Nested{{Name: "workspaces", Nesting: schema.Single, Block: store.Schema(workspaces...)}}
	return store.Driver{Name: name, Schema: s, Open: open}
}

// Driver is the backend "remote". It uses one workspace with a name, or all workspaces whose names begin with a prefix.
var Driver = driver("remote", openRemote,
	store.Attr("name", cty.String, "The remote workspace, which is the default workspace here."),
	store.Attr("prefix", cty.String, "The prefix of the remote names of the workspaces."),
)

// Cloud is the block "cloud". It uses one workspace with a name, or all workspaces that have tags or belong to a
// project.
var Cloud = driver("cloud", openCloud,
	store.Attr("name", cty.String, "The workspace. TF_WORKSPACE."),
	store.Attr("project", cty.String, "The project. With a name, it is the project in which a missing workspace is created, and which is created if it does not exist. TF_CLOUD_PROJECT."),
	store.Attr("tags", cty.DynamicPseudoType, "The tags of the workspaces: a set of tags, or a map of keys and values."),
)

func openRemote(ctx context.Context, s store.Settings) (store.Store, error) {
	r, in := &store.Reader{S: s}, s.In("workspaces")
	var o Options
	o.Host, _ = s.Text("hostname")
	o.Organization, _ = s.Text("organization")
	o.Name, _ = in.Text("name")
	o.Prefix, _ = in.Text("prefix")
	if (o.Name == "") == (o.Prefix == "") {
		r.Bad("workspaces", `either workspace "name" or "prefix" is required in the "workspaces" block, and only one of them is allowed`)
	}
	return open(ctx, r, o)
}

func openCloud(ctx context.Context, s store.Settings) (store.Store, error) {
	r, in := &store.Reader{S: s}, s.In("workspaces")
	var o Options
	o.Host, _ = s.Text("hostname", "TF_CLOUD_HOSTNAME")
	o.Organization, _ = s.Text("organization", "TF_CLOUD_ORGANIZATION")
	o.Name, _ = in.Text("name")
	o.Project, _ = in.Text("project", "TF_CLOUD_PROJECT")
	o.Tags = in.List("tags")
	if o.Tags == nil {
		o.Bindings = in.Texts("tags")
	}
	tagged := len(o.Tags)+len(o.Bindings) > 0
	selected := ""
	if s.Getenv != nil {
		selected = s.Getenv("TF_WORKSPACE")
	}
	switch {
	case o.Name != "" && tagged:
		r.Bad("workspaces", `only one of workspace "tags" or "name" is allowed in the "workspaces" block`)
	case o.Name == "" && !tagged:
		if o.Name = selected; o.Name == "" && o.Project == "" {
			r.Bad("workspaces", `either workspace "tags" or "name" is required: the cloud block has no "workspaces" block with one of them, and TF_WORKSPACE is not set`)
		}
	case o.Name != "" && selected != "" && selected != o.Name:
		r.Fail(in.Bad("name", "the cloud block names the workspace %q, and TF_WORKSPACE names %q: unset TF_WORKSPACE, or remove the name from the block", o.Name, selected))
	}
	o.Named = o.Name != ""
	return open(ctx, r, o, "TF_CLOUD_ORGANIZATION")
}

// open opens the store with the options o. env are the environment variables that may name the organization, for the
// message if it is missing.
func open(ctx context.Context, read *store.Reader, o Options, env ...string) (store.Store, error) {
	s, host := read.S, cmp.Or(o.Host, "app.terraform.io")
	if o.Host = host; o.Organization == "" {
		read.Fail(s.Missing("organization", env...))
	}
	if read.Err != nil {
		return nil, read.Err
	}
	if s.Hosts == nil {
		return nil, errors.New("this command cannot look up the services of a host")
	}
	var err error
	if o.Token, _ = s.Text("token"); o.Token == "" {
		if o.Token, err = s.Hosts.Token(ctx, host); err != nil {
			return nil, fmt.Errorf("the token for %s could not be obtained: %w", host, err)
		}
	}
	if o.Token == "" {
		instead := "set TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
		if strings.Contains(host, ":") { // no variable can hold the token of this host, because a variable name cannot contain a colon
			instead = fmt.Sprintf("write it into a block credentials %q of the CLI configuration", host)
		}
		return nil, fmt.Errorf("there is no token for %s: run \"lethe login %s\", or %s", host, host, instead)
	}
	if o.Base, err = s.Hosts.Service(ctx, host, "tfe.v2"); err != nil {
		return nil, err
	}
	o.Here = s.Getenv != nil && s.Getenv("TF_FORCE_LOCAL_BACKEND") != ""
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 5 * time.Minute // a timeout for the whole request would limit the size of states, so only the wait for the answer's header is limited
	o.Agent, o.Client, o.Tries = s.Agent, &http.Client{Transport: transport, CheckRedirect: store.Redirects()}, s.Tries(30*time.Second)
	r := newRemote(o)
	if o.Project != "" && o.Name == "" {
		if err := o.Tries.Do(ctx, func() (err error) {
			r.o.Project, err = r.project(ctx)
			return err
		}); err != nil {
			return nil, err
		}
		if r.o.Project == "" {
			return nil, fmt.Errorf("there is no project %q in the organization %q", o.Project, o.Organization)
		}
	}
	if o.Name == "" {
		return store.Retrying(&chosen{r}, o.Tries), nil
	}
	return store.Retrying(r, o.Tries), nil
}

// chosen is a store of many workspaces without a default workspace, as in Terraform.
type chosen struct{ *remote }

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (c *chosen) Capabilities() store.Capabilities {
	out := c.remote.Capabilities()
	out.Policy = c
	return out
}

// Permit returns an error if the service does not permit an operation on the workspace. For the name "default" it
// always returns an error, because a chosen store has no such workspace.
func (c *chosen) Permit(ctx context.Context, workspace string, runs bool, version string) error {
	if err := c.check(workspace); err != nil {
		return err
	}
	return c.remote.Permit(ctx, workspace, runs, version)
}

func (c *chosen) check(workspace string) error {
	if workspace == store.Default && c.o.Prefix != "" {
		return errors.New(`the backend "remote" has a prefix for workspaces and no workspace "default". Select a workspace with "lethe workspace select" or TF_WORKSPACE, or run "lethe workspace new"`)
	}
	if workspace == store.Default {
		return errors.New(`the cloud block selects workspaces by tags or a project and has no workspace "default". Select a workspace with "lethe workspace select" or TF_WORKSPACE, or run "lethe workspace new"`)
	}
	return nil
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists. For the name "default" it
// returns an error, because a chosen store has no such workspace.
func (c *chosen) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := c.check(workspace); err != nil {
		return nil, "", err
	}
	return c.remote.Get(ctx, workspace)
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
func (c *chosen) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := c.check(workspace); err != nil {
		return "", err
	}
	return c.remote.Put(ctx, workspace, data, prev)
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (c *chosen) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := c.check(workspace); err != nil {
		return nil, err
	}
	return c.remote.Lock(ctx, workspace, who)
}

// List returns the names of the workspaces, without "default".
func (c *chosen) List(ctx context.Context) ([]string, error) {
	names, err := c.remote.List(ctx)
	return slices.DeleteFunc(names, func(n string) bool { return n == store.Default }), err
}
