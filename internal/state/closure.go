package state

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Recorded dependencies are direct in memory, and transitive in files, because Terraform and
// OpenTofu order destruction by the list of each object alone. So every list is closed
// when it is written.
//
// For every resource on which others depend, the set of its transitive dependencies is computed once, dependencies
// first (walk.Components). The closure of a list is the union of these sets. The names of a list are visited in
// reverse order of place: a name that an earlier one leads to adds nothing. So closed lists, as files
// have them, cost no more than their length, and all lists together about as much as the number of
// names that are written.

// Closure computes the dependencies that a file lists for recorded ones. It is for one snapshot and one goroutine.
type Closure struct {
	ids   map[addr.Resource]int32 // of resources on which others depend: in the order of their texts
	names []dependency
	leads [][]int32 // by id: its transitive dependencies; including itself only on a cycle
	place []int32   // by id: an order in which everything comes after its dependencies
	lists map[listKey]*edges

	stamp []int32 // by id: the epoch in which it was found last
	epoch int32
	queue []int32
	last  []addr.Resource // the list that was asked for last
	found []int32         // and all that it leads to, sorted
}

type dependency struct {
	addr.Resource
	text string // as a JSON string
}

// listKey tells lists apart by the memory that they are in: whole layers of resources have the same.
type listKey struct {
	first *addr.Resource
	n     int
}

// edges are the recorded dependencies of a resource on which others depend.
type edges struct{ direct, all []int32 } // all that they lead to, once that is known; sorted

// Closure computes the transitive dependencies of the snapshot's recorded ones.
func (s *Snapshot) Closure() *Closure {
	c := &Closure{ids: map[addr.Resource]int32{}, lists: map[listKey]*edges{}}
	c.number(s)
	n := len(c.names)
	c.leads, c.place, c.stamp = make([][]int32, n), make([]int32, n), make([]int32, n)
	needs := c.needs(s)
	of, nodes := walk.Components(n, func(v int32) []int32 { return needs[v].direct }, func(w int32) int32 { return w })
	for begin, end := 0, 0; begin < n; begin = end {
		e := needs[nodes[begin]]
		for end = begin; end < n && of[nodes[end]] == of[nodes[begin]]; end++ {
			c.place[nodes[end]] = int32(end)
			if end > begin {
				e = &edges{direct: slices.Concat(e.direct, needs[nodes[end]].direct)}
			}
		}
		if e.all == nil {
			e.all = slices.Clone(c.follow(e.direct))
		}
		for _, v := range nodes[begin:end] {
			c.leads[v] = e.all
		}
	}
	return c
}

// number numbers the resources on which others depend.
func (c *Closure) number(s *Snapshot) {
	seen := map[listKey]bool{}
	for _, r := range s.all() {
		for _, e := range r.each {
			if len(e.Recorded) == 0 || seen[keyOf(e.Recorded)] {
				continue
			}
			seen[keyOf(e.Recorded)] = true
			for _, d := range e.Recorded {
				if _, ok := c.ids[d]; !ok {
					c.ids[d] = 0
					c.names = append(c.names, dependency{d, string(jsontext.AppendString(nil, d.String()))})
				}
			}
		}
	}
	slices.SortFunc(c.names, func(a, b dependency) int { return strings.Compare(a.text, b.text) })
	for i, d := range c.names {
		c.ids[d.Resource] = int32(i)
	}
}

// needs are the dependencies that are recorded, by id.
func (c *Closure) needs(s *Snapshot) []*edges {
	needs, none := make([]*edges, len(c.names)), &edges{}
	for id := range needs {
		needs[id] = none
	}
	for a, r := range s.all() {
		id, ok := c.ids[a.Resource()]
		if !ok {
			continue
		}
		for _, e := range r.each {
			if len(e.Recorded) == 0 {
				continue
			}
			l := c.lists[keyOf(e.Recorded)]
			if l == nil {
				l = &edges{direct: c.direct(e.Recorded)}
				c.lists[keyOf(e.Recorded)] = l
			}
			switch {
			case needs[id] == none:
				needs[id] = l
			case !slices.Equal(needs[id].direct, l.direct):
				both := slices.Concat(needs[id].direct, l.direct)
				slices.Sort(both)
				needs[id] = &edges{direct: slices.Compact(both)}
			}
		}
	}
	return needs
}

// direct are the ids of a list that is recorded in the snapshot, sorted.
func (c *Closure) direct(list []addr.Resource) []int32 {
	ids := make([]int32, len(list))
	for i, d := range list {
		ids[i] = c.ids[d]
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func keyOf(list []addr.Resource) listKey { return listKey{&list[0], len(list)} }

// same reports whether two lists are one and the same piece of memory.
func same(a, b []addr.Resource) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// follow finds a list and all that it leads to. The result is valid until the next call.
func (c *Closure) follow(list []int32) []int32 {
	c.queue = append(c.queue[:0], list...)
	slices.SortFunc(c.queue, func(a, b int32) int { return int(c.place[b] - c.place[a]) })
	c.epoch++
	c.found = c.found[:0]
	for _, d := range c.queue {
		if c.stamp[d] == c.epoch {
			continue
		}
		c.find(d)
		for _, far := range c.leads[d] {
			c.find(far)
		}
	}
	slices.Sort(c.found)
	return c.found
}

func (c *Closure) find(d int32) {
	if c.stamp[d] != c.epoch {
		c.stamp[d] = c.epoch
		c.found = append(c.found, d)
	}
}

// all is a list that is recorded in the snapshot and all that it leads to. The result is valid until the
// next call.
func (c *Closure) all(recorded []addr.Resource) []int32 {
	switch {
	case len(recorded) == 0:
		return nil
	case slices.Equal(c.last, recorded):
		return c.found
	}
	c.last = recorded
	if l := c.lists[keyOf(recorded)]; l != nil && l.all != nil {
		c.found = append(c.found[:0], l.all...)
		return c.found
	}
	return c.follow(c.direct(recorded))
}

// Of returns the list in the form of a file for an object of resource self with the recorded list: closed, without
// ephemeral resources and self, in text order.
func (c *Closure) Of(self addr.Resource, recorded []addr.Resource) []addr.Resource {
	var out []addr.Resource
	for _, id := range c.all(recorded) {
		if c.listed(self, id) {
			out = append(out, c.names[id].Resource)
		}
	}
	return out
}

// listed reports whether a file has a name in the list of an object of resource self.
func (c *Closure) listed(self addr.Resource, id int32) bool {
	d := c.names[id].Resource
	return d.Mode != addr.Ephemeral && d != self
}
