package pgstore

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// known is the stored sum and stamp of a resource or of an output. The stamp is "" if none is stored.
type known struct {
	sum   rows.Sum
	stamp string
}

// stampName returns the name under which the sum and the stamp for a row are stored: of its resource, or of the output.
// It returns "" for results of conditions, which have none.
func stampName(k rows.Kind, cells [][]byte) string {
	switch k {
	case rows.Outputs:
		return store.OutputStamp(string(cells[0]))
	case rows.Objects:
		return rows.ResourceOf(k, cells)
	}
	return ""
}

// partSums compares the sums of the rows read for a part of a state with the stored sums.
type partSums struct {
	part  map[string]bool     // the resources of the part; all outputs belong to it too
	read  map[string]rows.Sum // by names of stamps
	known map[string]known
}

func newPartSums(part []string) *partSums {
	p := &partSums{part: map[string]bool{}, read: map[string]rows.Sum{}, known: map[string]known{}}
	for _, name := range part {
		p.part[name] = true
	}
	return p
}

// add adds a row to its sum. It ignores rows with the name "" (results of conditions), which have no sum.
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

// intact reports whether the rows of the part are the written rows.
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
