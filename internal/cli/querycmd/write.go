package querycmd

import (
	"bytes"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine/querying"
)

// mayWrite reports an error and returns false if the file for generated configuration exists already. If name is "", no
// file is written, and mayWrite returns true.
func mayWrite(c *base.Call, name string) bool {
	if name == "" {
		return true
	}
	if _, err := os.Lstat(c.Path(name)); err == nil {
		c.Bag.Add(base.GeneratedExists())
		return false
	}
	return true
}

// generated is the file of -generate-config-out. It is created for the first result. Results are written while they
// arrive, so that an interrupt or an error does not lose the earlier results. If the process is killed, the file has
// only whole blocks, because every command would refuse a file that ends in the middle of a block.
type generated struct {
	path    string
	file    *os.File
	pending bytes.Buffer // whole blocks that are not in the file yet
	n       int          // the number of results with blocks
}

// mostPending is the number of bytes of pending blocks from which they are written to the file.
const mostPending = 4 << 10

// add adds the blocks of a result to the pending blocks, and writes these to the file if they have mostPending bytes or
// more. It ignores a result without a block. It returns the error of creating or writing the file, for example if the
// file exists.
func (g *generated) add(r *querying.Result) (err error) {
	if r.Block == nil {
		return nil
	}
	if g.file == nil {
		if g.file, err = os.OpenFile(g.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err != nil {
			return err
		}
		g.pending.WriteString("# __generated__ by Lethe\n# Please review these resources and move them into your main configuration files.\n")
	}
	g.n++
	g.pending.WriteString("\n" + r.Resource + "\n" + r.Import)
	if g.pending.Len() < mostPending {
		return nil
	}
	return g.flush()
}

// flush writes the pending blocks to the file in one call, so that a kill does not leave half of a block.
func (g *generated) flush() error {
	_, err := g.file.Write(g.pending.Bytes())
	g.pending.Reset()
	return err
}

// close writes the pending blocks and closes the file. If the file contains a secret, close deletes the file. In this
// case, and if the file cannot be written, it reports an error and returns false. If no result had a block, close does
// nothing and returns true.
func (g *generated) close(c *base.Call) bool {
	if g.file == nil {
		return true
	}
	err := g.flush()
	if more := g.file.Close(); err == nil {
		err = more
	}
	if err == nil && !c.Secrets.Empty() {
		var text []byte
		if text, err = os.ReadFile(g.path); err == nil && !mayStore(c, string(text)) {
			if g.n, err = 0, os.Remove(g.path); err == nil {
				return false
			}
		}
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to write generated configuration", "The file %s cannot be written: %s.", g.path, disk.Reason(err)))
	}
	return err == nil
}

// mayStore reports an error and returns false if text, generated configuration, contains a secret. Callers call
// mayStore after all searches, because a search may return a value that becomes a known secret later.
func mayStore(c *base.Call, text string) bool {
	from, hit := c.Secrets.Check(text, "", nil)
	if hit {
		c.Bag.Add(diag.Errorf("Failed to write generated configuration", "The configuration contains %s, so it was not written. A provider returned the secret in the results of a search. This is a bug in the provider. Report it to its developers.", from))
	}
	return !hit
}
