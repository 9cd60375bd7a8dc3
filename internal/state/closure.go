package state

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/walk"
)

// The recorded dependencies of an object are direct in memory. In files they are transitive, because Terraform and
// OpenTofu order destruction by the list of each object alone. So the writer extends each list by the dependencies of
// its members. Such an extended list is called closed.
//
// For every resource on which other resources depend, Closure computes the set of transitive dependencies once,
// dependencies first (walk.Components). The closed list of an object is the union of the sets of its dependencies. The
// names of a list are visited in reverse order of place, the order of dependencies. If an earlier name has led to a
// name, that name adds nothing. So a list that is closed already, as in files, costs time in proportion to its length.
// All lists together cost time in proportion to the number of written names.

// Closure computes the dependencies that a file lists for an object from its recorded dependencies. A Closure belongs
// to one snapshot, and only one goroutine may use it.
type Closure struct {
	ids   map[addr.Resource]int32 // the resources on which others depend, numbered in the order of their addresses
	names []dependency
	leads [][]int32 // by id: the transitive dependencies of the resource; a resource on a cycle has itself among them
	place []int32   // by id: the position in an order in which each resource comes after its dependencies
	lists map[listKey]*edges

	stamp []int32 // by id: the number of the call of follow (epoch) that last found the resource
	epoch int32
	queue []int32
	last  []addr.Resource // the argument of the last call of all
	found []int32         // last and all its transitive dependencies, sorted
}

type dependency struct {
	addr.Resource
	text string // the address as a JSON string
}

// listKey identifies a list by its address in memory, because many objects share the same list.
type listKey struct {
	first *addr.Resource
	n     int
}

// edges has the recorded dependencies of a resource on which others depend.
type edges struct{ direct, all []int32 } // all has the ids of the transitive dependencies, sorted; nil until they are computed

// Closure returns the Closure of the snapshot's recorded dependencies.
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

// number gives an id to each resource on which others depend.
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

// needs returns the recorded dependencies of each resource, by id.
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

// direct returns the sorted ids of the resources in a recorded list.
func (c *Closure) direct(list []addr.Resource) []int32 {
	ids := make([]int32, len(list))
	for i, d := range list {
		ids[i] = c.ids[d]
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func keyOf(list []addr.Resource) listKey { return listKey{&list[0], len(list)} }

// same reports whether two lists are the same slice in memory, not only equal.
func same(a, b []addr.Resource) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// follow returns the ids in list and the ids of all their transitive dependencies. The result is valid until the next
// call.
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

// all returns the sorted ids of a recorded list and of all its transitive dependencies. The result is valid until the
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

// Of returns the dependencies that a file lists for an object of resource self. recorded are the recorded dependencies
// of the object. The result is transitive, in text order, and has neither ephemeral resources nor self.
func (c *Closure) Of(self addr.Resource, recorded []addr.Resource) []addr.Resource {
	var out []addr.Resource
	for _, id := range c.all(recorded) {
		if c.listed(self, id) {
			out = append(out, c.names[id].Resource)
		}
	}
	return out
}

// listed reports whether a file lists a dependency for an object of the resource self. id is the index of the
// dependency in c.names. Ephemeral resources and self are not listed.
func (c *Closure) listed(self addr.Resource, id int32) bool {
	d := c.names[id].Resource
	return d.Mode != addr.Ephemeral && d != self
}
