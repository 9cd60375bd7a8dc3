package runcmd

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// mayGenerate refuses to make configuration where there is a file already.
func (f *planFlags) mayGenerate(c *base.Call) bool {
	if f.generate == "" {
		return true
	}
	if _, err := os.Stat(c.Path(f.generate)); err == nil {
		c.Bag.Add(diag.Errorf("Target generated file already exists", "Lethe can only write generated config into a new file. Either choose a different target location or move all existing configuration out of the target file, delete it and try again."))
		return false
	}
	return true
}

// plan plans as the flags ask for.
func (o *operation) plan(ctx context.Context) (*engine.Result, bool) {
	req, ok := o.f.request(o.p, o.ws.Snapshot())
	if !ok {
		return nil, false
	}
	o.only.narrow(&req, o.ws)
	result, ok := o.p.Engine.Plan(ctx, req, o.p.Bag)
	if result != nil && result.Cut {
		o.p.Call.CutShort()
	}
	return result, ok
}

// planGenerated plans again with the configuration that was made for imported resources without
// any, and writes it to the file that was asked for: also if planning fails, so that it can be put
// right.
func (o *operation) planGenerated(ctx context.Context, made map[addr.Resource]string) (*engine.Result, bool) {
	var text bytes.Buffer
	text.WriteString("# __generated__ by Lethe\n# Please review these resources and move them into your main configuration files.\n")
	byName := map[string]string{}
	for r, block := range made {
		byName[r.String()] = block
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		text.WriteString("\n" + byName[name])
	}
	if !o.writeGenerated(text.Bytes()) {
		return nil, false
	}
	if !o.p.LoadWith(filepath.Base(o.f.generate), text.Bytes()) || !o.p.Compile(ctx, vet.CheckOptions{}) {
		return nil, false
	}
	o.f.generate = ""
	result, ok := o.plan(ctx)
	if result != nil {
		for _, c := range result.Plan.Changes {
			block := made[c.Object.Resource()]
			if strings.HasPrefix(block, "#") { // a comment that says where it is from
				_, block, _ = strings.Cut(block, "\n")
			}
			c.Generated = strings.TrimSuffix(block, "\n")
		}
	}
	return result, ok
}

func (o *operation) writeGenerated(text []byte) bool {
	f, err := os.OpenFile(o.p.Call.Path(o.f.generate), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		o.p.Bag.Add(diag.Errorf("Failed to write generated configuration", "%s.", err))
		return false
	}
	return true
}

// reportGenerated says where the generated configuration is.
func (o *operation) reportGenerated(name string) {
	o.p.UI.Tell(event.Note{Text: o.p.Call.Renamed("\nLethe has generated configuration and written it to " + name + ". Please review the configuration and edit it as necessary before adding it to version control.")})
}
