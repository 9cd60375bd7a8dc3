package pgstore

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// known is the stored sum of the row digests, and the stored stamp, of a resource or an output. A stamp is a digest of
// its rows, its configuration and its inputs after a run that had nothing left to do for it. The stamp is "" if none is
// stored.
type known struct {
	sum   rows.Sum
	stamp string
}

// stampName returns the name under which the sum for a row is stored: the address of the row's resource, or the name of
// the output's stamp. It returns "" for check results, which have no sum.
func stampName(k rows.Kind, cells [][]byte) string {
	switch k {
	case rows.Outputs:
		return store.OutputStamp(string(cells[0]))
	case rows.Objects:
		return rows.ResourceOf(k, cells)
	}
	return ""
}

// partSums compares the sums of the rows that were read for a part of a state with the stored sums.
type partSums struct {
	part  map[string]bool     // the resources of the part; all outputs belong to each part, too
	read  map[string]rows.Sum // the sums of the read rows, by the names of stampName
	known map[string]known
}

func newPartSums(part []string) *partSums {
	p := &partSums{part: map[string]bool{}, read: map[string]rows.Sum{}, known: map[string]known{}}
	for _, name := range part {
		p.part[name] = true
	}
	return p
}

// add adds the digest of a read row to the sum with that name. It ignores the name "", because check results have no
// sum.
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

// intact reports whether the rows of the part are the rows that were written: their sums equal the stored sums.
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
