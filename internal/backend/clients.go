package backend

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// clients makes the clients of stores and key services, with the settings that all of them share.
type clients struct {
	env *workspace.Env
	o   Clients
}

// settings returns the settings with which a store or a key provider is opened. The store passes each secret in them to
// Clients.Secret, with a text that describes where the settings are.
func (c *clients) settings(sch *schema.Block, config cty.Value, where string) store.Settings {
	s := store.Settings{Config: config, Schema: sch, Dir: c.env.Dir, FS: c.env.FS, Getenv: c.env.Getenv, Agent: c.o.Agent, Hosts: c.o.Hosts, Notify: c.o.Notify, Stop: c.o.Stop}
	if c.o.Secret != nil {
		s.Learn = func(text string) { c.o.Secret(text, where) }
	}
	return s
}

// open opens a store without encryption. It returns the error instead of reporting a diagnostic.
func (c *clients) open(ctx context.Context, s settings) (store.Store, error) {
	return s.driver.Open(ctx, c.settings(s.driver.Schema, s.config, backendSettings(s.driver)))
}

// backendSettings returns a description of the settings of a store, for Clients.Secret.
func backendSettings(driver store.Driver) string {
	return fmt.Sprintf("the settings of backend %q", driver.Name)
}
