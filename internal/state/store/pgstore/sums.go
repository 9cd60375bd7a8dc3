package pgstore

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/pgstore/rows"
)

// known is what there is of a resource.
type known struct {
	sum   rows.Sum
	stamp string
}

// stampName is what the row of a stamp is called; "" for results of conditions.
func stampName(k rows.Kind, cells [][]byte) string {
	switch k {
	case rows.Outputs:
		return store.OutputStamp(string(cells[0]))
	case rows.Objects:
		return rows.ResourceOf(k, cells)
	}
	return ""
}

// partSums compares the sums of the rows that were read of a part of a state with the sums that were kept with it.
type partSums struct {
	part  map[string]bool     // the resources of the part; all outputs belong to it
	read  map[string]rows.Sum // by the names of stamps
	known map[string]known
}

func newPartSums(part []string) *partSums {
	p := &partSums{part: map[string]bool{}, read: map[string]rows.Sum{}, known: map[string]known{}}
	for _, name := range part {
		p.part[name] = true
	}
	return p
}

// add counts a row. Results of conditions have no name and no sum.
func (p *partSums) add(name string, d rows.Digest) {
	if name != "" {
		sum := p.read[name]
		sum.Add(d)
		p.read[name] = sum
	}
}

func (p *partSums) has(name string) bool {
	return p.part[name] || strings.HasPrefix(name, store.OutputStamp(""))
}

// intact reports whether the rows of the part are those that were written.
func (p *partSums) intact() bool {
	for name, is := range p.known {
		if p.has(name) && p.read[name] != is.sum {
			return false
		}
	}
	for name, sum := range p.read {
		if sum != p.known[name].sum {
			return false
		}
	}
	return true
}
