package querying

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// names makes the names of the resource blocks that a query generates. Such a name consists of the name of the list
// block, the key of its instance if it has one, and a number.
type names struct {
	prog  *program.Program
	state *state.Snapshot        // the state whose resource names are in use; nil: no state
	other map[addr.Resource]bool // resources that moved, removed and import blocks of the root module name

	mu    sync.Mutex
	taken map[[2]string]bool // beginnings of names in use, by type
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes of the types and identities of generated blocks
}

func (n *names) init(p *program.Program, s *state.Snapshot) {
	n.prog, n.state, n.taken, n.seed, n.seen = p, s, map[[2]string]bool{}, maphash.MakeSeed(), map[uint64]struct{}{}
	n.other = map[addr.Resource]bool{}
	root := p.Tree().Root.Module
	for _, m := range root.Moved {
		n.other[m.From.Target.Resource()] = true
	}
	for _, r := range root.Removed {
		n.other[r.From.Target.Resource()] = true
	}
	for to := range p.UndeclaredImports() {
		n.other[to] = true
	}
}

// generated records that a block was generated for the object with this type and identity. It returns true if a block
// was generated for the object before. It compares hashes of 64 bits, to save memory.
func (n *names) generated(typ string, identity []byte) bool {
	h := maphash.String(n.seed, typ) ^ maphash.Bytes(n.seed, identity)
	n.mu.Lock()
	defer n.mu.Unlock()
	_, again := n.seen[h]
	n.seen[h] = struct{}{}
	return again
}

// label returns the beginning of the resource names for the instance i of a list block. No other search of the same
// type gets the same beginning.
func (n *names) label(i addr.Instance) string {
	label := i.Name
	if i.Key != addr.NoKey {
		label += "_" + strings.Map(func(c rune) rune {
			if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				return c
			}
			return '_'
		}, strings.Trim(i.Key.String(), `[]"`))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.taken[[2]string{i.Type, label}] {
		label += "_"
	}
	n.taken[[2]string{i.Type, label}] = true
	return label
}

// free returns a name that neither the configuration nor the state has for the type: label, an underscore and the
// number i, followed by more underscores if the name is in use. A block with a name in the state would change the
// object there.
func (n *names) free(typ, label string, i int) string {
	for name := label + "_" + strconv.Itoa(i); ; name += "_" {
		r := addr.Resource{Mode: addr.Managed, Type: typ, Name: name}
		_, declared := n.prog.Resource(r)
		if !declared && !n.other[r] && n.state.Resource(r.In(addr.ModuleInstance{})) == nil {
			return name
		}
	}
}
