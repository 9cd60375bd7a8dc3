package state

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Recorded dependencies are direct in memory; files list them transitively, because the peers
// order destruction by what one object lists and look no further. So every list is closed when it
// is written, by a search from it over the direct edges of all resources, and no closure is kept.
//
// Files give back closed lists. A search over closed lists would look at as many edges from every
// node as the node has in its closure, which is cubic for a chain; so the edges are reduced first:
// a dependency that another one already leads to is left out. Resources are taken in the order in
// which what they depend on comes first (walk.Components), each one's dependencies nearest
// first, and each search runs over edges that are reduced already. All this together looks at
// about as many edges as names are written in the end.
//
// Edited states can be cyclic; inside a cycle nothing is reduced, and the searches, which stamp
// what they have seen, end all the same.

// Closure answers which dependencies a file lists for what is recorded. It is made for one
// snapshot and one goroutine.
type Closure struct {
	ids   map[addr.Resource]int32
	names []addr.Resource
	needs [][]int32 // direct dependencies, reduced; none for what has no entry

	// Equal lists are one set, since whole layers of resources have the same.
	lists map[listKey]int32  // sets by the memory of the list they were made of
	equal map[uint64][]int32 // sets by content
	sets  []edgeSet
	setOf []int32 // the set of each node, or -1

	stamp []int32 // the epoch in which each was last seen
	epoch int32
	found []int32
	stack []int32

	text []string // the names as JSON strings, as far as they were needed
	rank []int32  // place in text order of those names that were there at first
}

// edgeSet is a list of dependencies by number.
type edgeSet struct {
	all     []int32
	nearest []int32 // those to which no other leads; nil until worked out
}

type listKey struct {
	first *addr.Resource
	n     int
}

// Closure begins a search over the snapshot's recorded dependencies.
func (s *Snapshot) Closure() *Closure {
	n := len(s.all())
	c := &Closure{ids: make(map[addr.Resource]int32, n+n/4), lists: map[listKey]int32{}, equal: map[uint64][]int32{}}
	for _, r := range s.all() {
		c.collect(c.id(r.Addr.Resource()), r)
	}
	c.stamp = make([]int32, len(c.names))
	c.reduce()
	return c
}

func (c *Closure) id(r addr.Resource) int32 {
	id, ok := c.ids[r]
	if !ok {
		id = int32(len(c.names))
		c.ids[r] = id
		c.names = append(c.names, r)
		c.needs = append(c.needs, nil)
		c.setOf = append(c.setOf, -1)
	}
	return id
}

// collect adds the edges of one resource's objects.
func (c *Closure) collect(from int32, r *Resource) {
	var last []addr.Resource
	for _, e := range r.each {
		if len(e.Recorded) == 0 || same(last, e.Recorded) {
			continue
		}
		last = e.Recorded
		switch set := c.set(last); {
		case c.setOf[from] < 0:
			c.setOf[from] = set
		case c.setOf[from] != set:
			c.setOf[from] = c.union(c.setOf[from], set)
		}
		c.needs[from] = c.sets[c.setOf[from]].all
	}
}

// set gives the set for a list.
func (c *Closure) set(list []addr.Resource) int32 {
	k := listKey{&list[0], len(list)}
	set, ok := c.lists[k]
	if !ok {
		all := make([]int32, len(list))
		for i, d := range list {
			all[i] = c.id(d)
		}
		set = c.intern(all)
		c.lists[k] = set
	}
	return set
}

// union gives the set of what is in either of two.
func (c *Closure) union(a, b int32) int32 {
	all := slices.Concat(c.sets[a].all, c.sets[b].all)
	slices.Sort(all)
	return c.intern(slices.Compact(all))
}

func (c *Closure) intern(all []int32) int32 {
	h := uint64(len(all))
	for _, id := range all {
		h = (h ^ uint64(id)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, set := range c.equal[h] {
		if slices.Equal(c.sets[set].all, all) {
			return set
		}
	}
	set := int32(len(c.sets))
	c.sets = append(c.sets, edgeSet{all: all})
	c.equal[h] = append(c.equal[h], set)
	return set
}

// same reports whether two lists are one and the same piece of memory.
func same(a, b []addr.Resource) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// reduce leaves out the edges that others already imply.
func (c *Closure) reduce() {
	of, nodes := walk.Components(len(c.needs), func(v int32) []int32 { return c.needs[v] }, func(w int32) int32 { return w })
	place := make([]int32, len(nodes))
	for i, v := range nodes {
		place[v] = int32(i)
	}
	for i, v := range nodes {
		cyclic := i > 0 && of[nodes[i-1]] == of[v] || i+1 < len(nodes) && of[nodes[i+1]] == of[v]
		if c.setOf[v] < 0 || cyclic || slices.Contains(c.needs[v], v) {
			continue
		}
		set := &c.sets[c.setOf[v]]
		if set.nearest == nil {
			set.nearest = c.nearest(slices.Clone(set.all), place)
		}
		c.needs[v] = set.nearest
	}
}

// nearest keeps those of a node's edges to which no other of them leads.
func (c *Closure) nearest(to []int32, place []int32) []int32 {
	if len(to) < 2 {
		return to
	}
	slices.SortFunc(to, func(a, b int32) int { return int(place[b] - place[a]) })
	c.begin()
	kept := to[:0]
	for _, d := range to {
		if c.stamp[d] != c.epoch {
			kept = append(kept, d)
			c.search(d)
		}
	}
	return slices.Clone(kept)
}

func (c *Closure) begin() {
	c.epoch++
	c.found = c.found[:0]
}

// search stamps and collects all that d leads to, d included.
func (c *Closure) search(d int32) {
	if c.stamp[d] == c.epoch {
		return
	}
	c.stamp[d] = c.epoch
	c.stack = append(c.stack[:0], d)
	for len(c.stack) > 0 {
		v := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		c.found = append(c.found, v)
		for _, to := range c.needs[v] {
			if c.stamp[to] != c.epoch {
				c.stamp[to] = c.epoch
				c.stack = append(c.stack, to)
			}
		}
	}
}

// Of gives the list as a file has it for an object of resource self: closed, without ephemeral
// resources and self, in text order.
func (c *Closure) Of(self addr.Resource, recorded []addr.Resource) []addr.Resource {
	ids := c.of(self, recorded)
	out := make([]addr.Resource, len(ids))
	for i, id := range ids {
		out[i] = c.names[id]
	}
	return out
}

// of is Of by number; the result is valid until the next search.
func (c *Closure) of(self addr.Resource, recorded []addr.Resource) []int32 {
	c.begin()
	c.searchAll(recorded)
	out := c.found[:0]
	for _, id := range c.found {
		if n := c.names[id]; n.Mode != addr.Ephemeral && n != self {
			out = append(out, id)
		}
	}
	c.spell()
	slices.SortFunc(out, c.compare)
	return out
}

// searchAll searches from every name in a list.
func (c *Closure) searchAll(list []addr.Resource) {
	if len(list) == 0 {
		return
	}
	if set, ok := c.lists[listKey{&list[0], len(list)}]; ok && c.sets[set].nearest != nil {
		for _, id := range c.sets[set].nearest {
			c.search(id)
		}
		return
	}
	for _, d := range list {
		id := c.id(d)
		if int(id) == len(c.stamp) { // a name that no entry has
			c.stamp = append(c.stamp, 0)
		}
		c.search(id)
	}
}

// quoted is a name as JSON has it; only for ids that of gave.
func (c *Closure) quoted(id int32) string { return c.text[id] }

// met reports whether the last search came to r.
func (c *Closure) met(r addr.Resource) bool {
	id, ok := c.ids[r]
	return ok && int(id) < len(c.stamp) && c.stamp[id] == c.epoch
}

// compare orders by text, by rank where both have one.
func (c *Closure) compare(a, b int32) int {
	if n := int32(len(c.rank)); a < n && b < n {
		return int(c.rank[a] - c.rank[b])
	}
	return strings.Compare(c.text[a], c.text[b])
}

// spell makes the texts that are not made yet, and the ranks.
func (c *Closure) spell() {
	for _, n := range c.names[len(c.text):] {
		c.text = append(c.text, string(jsontext.AppendString(nil, n.String())))
	}
	if c.rank != nil {
		return
	}
	order := make([]int32, len(c.text))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, c.compare)
	rank := make([]int32, len(order))
	for i, id := range order {
		rank[id] = int32(i)
	}
	c.rank = rank
}
