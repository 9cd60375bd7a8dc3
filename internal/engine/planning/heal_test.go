package planning_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/applying"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// cloud is a fake cloud with a world (an engine with a state). It counts its objects, and makes one change or
// invocation of an action fail.
type cloud struct {
	*world.World
	objects map[string]int       // by "name@region"
	foreign map[string]int       // the objects that runs have forgotten, by "name@region"
	leaves  map[addr.Object]bool // forgotten in the present run
	comes   map[addr.Object]bool // imported in the present run
	byName  bool                 // an object is found by its name alone, so that regions confuse objects
	calls   int
	failAt  int  // the number of the change that fails; 0: none fails
	late    bool // the change fails after it was made
	kills   bool // the engine is killed in the place of the failure
	killed  bool
	reads   int
	failing int // the number of the read that fails; 0: none fails
	history []string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{World: world.New(t), objects: map[string]int{}, foreign: map[string]int{}, leaves: map[addr.Object]bool{}, comes: map[addr.Object]bool{}}
	c.Settings.Sink = c
	c.divide()
	return c
}

// change creates, updates or destroys one object in a region, or fails if it is the change with the number failAt.
func (c *cloud) change(region string, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	prior, next := c.Value(r.Prior), c.Value(r.Planned)
	c.calls++
	failed, private := provider.Diags{diag.Errorf("failed", "")}, []byte("of "+region)
	if c.killed {
		return provider.ApplyResponse{State: r.Prior, Private: private}, failed
	}
	c.killed = c.kills && c.calls == c.failAt
	switch {
	case c.killed && c.late && next.IsNull(): // the answer is lost
		if name := world.Text(prior, "name") + "@" + region; c.objects[name] > 0 {
			add(c.objects, name, -1)
		}
		c.history = append(c.history, "killed")
		return provider.ApplyResponse{State: r.Prior, Private: private}, failed
	case c.calls == c.failAt && !c.late:
		c.history = append(c.history, "failed")
		return provider.ApplyResponse{State: r.Prior, Private: private}, failed
	case next.IsNull() && c.calls == c.failAt:
		c.history = append(c.history, "failed late")
		return provider.ApplyResponse{State: r.Prior, Private: private}, failed
	case next.IsNull():
		if name := world.Text(prior, "name") + "@" + region; c.objects[name] > 0 {
			add(c.objects, name, -1)
		}
		c.history = append(c.history, "-"+world.Text(prior, "name"))
	case prior.IsNull() && c.killed: // the user is told of the object, and destroys it
		c.history = append(c.history, "killed")
		return provider.ApplyResponse{State: r.Prior, Private: private}, failed
	case prior.IsNull():
		add(c.objects, world.Text(next, "name")+"@"+region, 1)
		c.history = append(c.history, "+"+world.Text(next, "name"))
	default:
		c.history = append(c.history, "~"+world.Text(next, "name"))
	}
	made := c.Made(r)
	made.Private = private
	if !next.IsNull() {
		made.Identity = identity(world.Text(next, "name"))
	}
	if c.calls == c.failAt {
		c.history = append(c.history, "failed late")
		return made, failed
	}
	return made, nil
}

// read answers that an object does not exist if it is in another region, or was deleted outside of Lethe. The private data
// of the object has its region, because another region may have an object with the same id. With byName, it does not.
func (c *cloud) read(region string, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	name := world.Text(c.Value(r.State), "name")
	if c.reads++; c.reads == c.failing {
		c.history = append(c.history, "unread")
		return provider.ReadResponse{State: r.State}, provider.Diags{diag.Errorf("failed", "")}
	}
	if !c.byName && string(r.Private) != "of "+region || c.objects[name+"@"+region] == 0 {
		return provider.ReadResponse{State: c.Wire(cty.NullVal(c.Value(r.State).Type()))}, nil
	}
	return provider.ReadResponse{State: r.State, Private: r.Private, Identity: identity(name)}, nil
}

// find answers an import of a forgotten object by its id or its identity.
func (c *cloud) find(region string, r provider.ImportRequest) (out provider.ImportResponse) {
	name := strings.TrimPrefix(r.ID, "id-")
	if r.ID == "" {
		v, err := objectIdentity.Decode(r.Identity.Msgpack)
		if err != nil {
			panic(err)
		}
		name = world.Text(v, "name")
	}
	if c.foreign[name+"@"+region] > 0 {
		v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("id-" + name), "name": cty.StringVal(name), "note": cty.StringVal("")})
		out.Objects = []provider.Imported{{Type: "fake_thing", State: c.Wire(v), Private: []byte("of " + region), Identity: identity(name)}}
	}
	return out
}

func add(to map[string]int, name string, n int) {
	if to[name] += n; to[name] == 0 {
		delete(to, name)
	}
}

// stored counts the objects in the state by "name@region", together with the forgotten objects.
func (c *cloud) stored() map[string]int {
	out := map[string]int{}
	for _, e := range c.State.Objects() {
		var attrs struct{ Name string }
		if err := json.Unmarshal(e.Attrs, &attrs); err != nil {
			panic(err)
		}
		add(out, attrs.Name+"@"+regionOf(e.Provider), 1)
	}
	return out
}

// owned counts the objects that exist and that no run has forgotten by "name@region".
func (c *cloud) owned() map[string]int {
	out := maps.Clone(c.objects)
	for name, n := range c.foreign {
		add(out, name, -n)
	}
	return out
}

// lost reports whether an object exists that is not in the state, and that no run has forgotten.
func (c *cloud) lost() bool {
	stored := c.stored()
	for name, n := range c.objects {
		if stored[name]+c.foreign[name] < n {
			return true
		}
	}
	return false
}

// command applies a configuration, in rounds (plans, each with its apply) if rounds is true. It returns false if a plan
// or an apply failed.
func (c *cloud) command(text string, rounds bool, change func(*planning.Request)) bool {
	earlier := &planning.Earlier{}
	for {
		p, ok := c.Plan(text, func(r *planning.Request) {
			if change != nil {
				change(r)
			}
			if rounds {
				r.Rounds, r.Earlier = true, earlier
			}
		})
		if !ok {
			return false // a read failed, or the options of the command do not fit: for example, a target excludes an object that has moved
		}
		result, before := c.Result, c.State
		records := &records{cloud: c, state: before.Edit()}
		_, ok = c.Carry(text, p, func(r *applying.Request) { r.Journal = records })
		c.history = append(c.history, "|")
		for _, f := range p.Changes {
			if c.leaves[f.Object] {
				c.forget(world.Text(f.Before.Raw, "name"), regionOf(f.Entry.Provider))
			}
			if c.comes[f.Object] {
				add(c.foreign, world.Text(f.Before.Raw, "name")+"@"+regionOf(f.Provider), -1)
			}
		}
		clear(c.leaves)
		clear(c.comes)
		if c.killed {
			c.killed, c.kills, c.failAt, c.State = false, false, 0, c.again(records.state.Done())
			return false
		}
		c.State = c.again(c.State)
		if !ok || len(p.Deferred) == 0 {
			return ok
		}
		if !p.Decides() {
			c.Fatalf("nothing is decided:\n%s", text)
		}
		earlier.Add(result)
	}
}

// again writes a state to a file and reads it.
func (c *cloud) again(s *state.Snapshot) *state.Snapshot {
	text, err := s.Bytes()
	var bag diag.Bag
	out, ok := state.Read(text, &bag)
	if err != nil || !ok {
		c.Fatal(err, bag.List())
	}
	return out
}

// records is a journal that a killed engine can no longer write. It has the state that a recovery makes from the records.
type records struct {
	cloud *cloud
	state *state.Edit
}

func (r *records) Intent(journal.Intent) (journal.Op, error) {
	if r.cloud.killed {
		return 0, errors.New("killed")
	}
	return 1, nil
}

func (r *records) Later(done func(error), _ journal.Op, changed ...journal.Change) {
	if !r.cloud.killed {
		for _, c := range changed {
			r.state.Put(c.Object, c.Entry)
		}
	}
	done(nil)
}

// forget records that a run has forgotten an object. With byName, it deletes the object, because another region could find
// it in the place of another one.
func (c *cloud) forget(name, region string) {
	if name += "@" + region; c.objects[name] > 0 && c.byName {
		add(c.objects, name, -1)
	} else if c.objects[name] > 0 {
		add(c.foreign, name, 1)
	}
}

// Send records which objects a run forgets and imports.
func (c *cloud) Send(e event.Event) {
	if done, ok := e.(event.Done); ok && done.Op == event.Forget && !c.killed {
		c.leaves[done.Object] = true
	}
	if done, ok := e.(event.Imported); ok && !c.killed {
		c.comes[done.Object] = true
	}
}

// seeds returns the number of random cases.
func seeds() uint64 {
	switch {
	case os.Getenv("LETHE_LONG") != "":
		return 10_000
	case testing.Short():
		return 20
	}
	return 50
}

// If a change fails in a command with rounds (plans, each with its apply), the next command reaches the state that it
// would have reached without the failure.
func TestFailedRoundsHeal(t *testing.T) {
	for seed := range seeds() {
		rounds, known := newCloud(t), newCloud(t)
		r := rand.New(rand.NewPCG(seed, 99))
		for step := range uint64(3) {
			text := randomConfig(rand.New(rand.NewPCG(seed, step*(seed%2))), rand.New(rand.NewPCG(seed, 2+step)))
			rounds.history, rounds.calls, rounds.failAt, rounds.late = nil, 0, r.IntN(9), r.IntN(2) == 0
			failed := !rounds.command(unknownIDs(text), true, nil)
			if rounds.failAt = 0; failed && !rounds.command(unknownIDs(text), true, nil) {
				t.Fatalf("seed %d, step %d: does not heal: %v\n%s\n%s", seed, step, rounds.Bag.List(), rounds.history, text)
			}
			if !known.command(knownIDs(text), false, nil) {
				t.Fatalf("seed %d: %v\n%s", seed, known.Bag.List(), knownIDs(text))
			}
			if contents(rounds.World) != contents(known.World) {
				t.Fatalf("seed %d, step %d: rounds end with\n%s\nand known values with\n%s\n%s\n%s", seed, step, contents(rounds.World), contents(known.World), rounds.history, text)
			}
			if !maps.Equal(rounds.objects, known.objects) {
				t.Fatalf("seed %d, step %d: rounds leave\n%v\nand known values\n%v\n%s\n%s", seed, step, rounds.objects, known.objects, rounds.history, text)
			}
		}
	}
}

// After each command, with any options and any failed call, the state has every object that was not forgotten. One more
// command without options then makes the state that the configuration makes from an empty state.
func TestCommandsLoseNoObject(t *testing.T) {
	for seed := range seeds() {
		r := rand.New(rand.NewPCG(seed, 7))
		c := newCloud(t)
		c.byName = r.IntN(2) == 0
		all := drawn(r)
		behind := false // the state may have objects whose moved blocks were removed; such objects invoke no actions
		for step := range 4 {
			redraw(r, all)
			text := written(all)
			imports := c.imports(r, all)
			options, named := drawnOptions(r, all)
			if step == 0 {
				options, named = nil, ""
			}
			c.history, c.calls, c.failAt, c.late = append(c.history, named), 0, r.IntN(9), r.IntN(2) == 0
			c.kills, c.reads, c.failing = r.IntN(3) == 0, 0, max(0, r.IntN(40)-25)
			for _, name := range slices.Sorted(maps.Keys(c.objects)) {
				if r.IntN(12) == 0 {
					delete(c.objects, name)
					delete(c.foreign, name)
					c.history = append(c.history, "gone "+name)
				}
			}
			began := len(c.history)
			done := c.command(imports+text, r.IntN(4) == 0, options)
			if name := untold(c.history[began:], invoking(all)); done && !behind && name != "" && (c.failAt == 0 || c.calls < c.failAt) {
				t.Fatalf("seed %d, step %d %s: invocations of %s\n%s\n%s", seed, step, named, name, c.history, text)
			}
			behind = behind || !done
			if c.lost() {
				t.Fatalf("seed %d, step %d %s: exist %v, the state has %v\n%s\n%s", seed, step, named, c.objects, c.stored(), c.history, imports+text)
			}
			if c.failAt, c.failing, c.kills = 0, 0, false; r.IntN(2) == 0 {
				continue
			}
			fresh := newCloud(t)
			if !c.command(text, false, nil) || !fresh.command(text, false, nil) {
				t.Fatalf("seed %d, step %d: %v\n%s\n%s\n%s", seed, step, c.Bag.List(), c.history, entries(c), text)
			}
			if c.lost() {
				t.Fatalf("seed %d, step %d: exist %v, the state has %v\n%s\n%s", seed, step, c.objects, c.stored(), c.history, text)
			}
			if stored, owned := c.stored(), c.owned(); !maps.Equal(stored, owned) {
				t.Fatalf("seed %d, step %d: runs own %v, the state has %v\n%s\n%s", seed, step, owned, stored, c.history, text)
			}
			if got, want := entries(c), entries(fresh); got != want {
				t.Fatalf("seed %d, step %d: the state has\n%s\nfrom nothing it would have\n%s\n%s\n%s", seed, step, got, want, c.history, text)
			}
			behind = false
			if p, ok := c.Plan(text, nil); !ok || len(world.Actions(p)) > 0 {
				t.Fatalf("seed %d, step %d: plans %v again\n%s", seed, step, world.Actions(p), text)
			}
		}
	}
}

// entries lists the objects of the state of c with their attributes. It omits the recorded dependencies, because an
// object inherits the dependencies of forgotten objects.
func entries(c *cloud) string {
	var out []string
	for o, e := range c.State.Objects() {
		out = append(out, fmt.Sprintf("%s %s tainted %v first %v skip %v in %s", o, e.Attrs, e.Tainted, e.CreateFirst, e.SkipDestroy, e.Provider))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// thing is a resource of a random configuration. If absent is true, the configuration does not declare the resource;
// with removed, it has a removed block for the resource. If first is true, the resource has create_before_destroy, and
// if keeps is true, it has destroy = false. The field keys is the number of instances. The numbers generation and note
// are parts of the arguments name and note.
type thing struct {
	name, was                     string // was: the name before a move
	absent, first, keeps, removed bool
	repeat                        int // 0: none, 1: count, 2: for_each, 3: enabled
	keys, generation, note        int
	region                        int   // the provider: 0: the default block, 1 to 3: a constant key, 4: the key of the instance, 5: another block
	acts                          int   // 0 or less: invokes no actions; otherwise, the index of on_failure in failures
	refers                        []int // indexes of earlier resources to which this resource refers
	byName                        bool  // the references are part of the name
	inside, crossed               bool  // inside: declared in the module; crossed: not so before this change
	moves                         bool  // a moved block has the former address of a resource that crossed
}

// call is the call of the module in a random configuration. Its fields have the same meaning as the fields of thing.
type call struct{ repeat, keys, region int }

// draft is a random configuration.
type draft struct {
	*call
	things []*thing
}

// address returns the address of a resource with a name, without the key of the module.
func (x *thing) address(name string, inside bool) string {
	if inside {
		return "module.m.fake_thing." + name
	}
	return "fake_thing." + name
}

// object returns the first part of the names of a resource's objects. The resource has the index i. In the module, the part
// does not begin with "o": objects of the module do not have all invocations, because its instances may be removed.
func (x *thing) object(i int) string {
	if x.inside {
		return fmt.Sprintf("m%d-%d", i, x.generation)
	}
	return fmt.Sprintf("o%d-%d", i, x.generation)
}

// key returns the key of one instance of the module, as a part of an address.
func (c *call) key() string { return []string{"", "[0]", `["a"]`}[c.repeat] }

func drawn(r *rand.Rand) *draft {
	out := &draft{call: &call{keys: 2}}
	for i := range 3 + r.IntN(4) {
		x := &thing{inside: r.IntN(4) == 0, name: fmt.Sprintf("r%d", i), repeat: max(0, r.IntN(6)-2), keys: r.IntN(4), region: max(0, r.IntN(8)-3), acts: max(0, r.IntN(6)-2)}
		for j := range i {
			if r.IntN(3) == 0 {
				x.refers = append(x.refers, j)
			}
		}
		out.things = append(out.things, x)
	}
	return out
}

// redraw changes a random configuration: it renames, removes, adds or edits some of its resources.
func redraw(r *rand.Rand, all *draft) {
	switch r.IntN(8) {
	case 0:
		all.repeat = r.IntN(3)
	case 1:
		all.keys = r.IntN(3)
	case 2:
		all.region = r.IntN(6)
	}
	for i, x := range all.things {
		x.was, x.removed, x.crossed = "", false, false
		switch r.IntN(16) {
		case 13:
			x.acts = -1 // from now on, the objects at the former address do not invoke actions
			x.inside, x.crossed, x.moves = !x.inside, !x.absent, r.IntN(3) > 0
		case 11:
			x.region = r.IntN(6)
		case 12:
			if acts := r.IntN(4); x.acts >= 0 {
				x.acts = acts
			}
		case 0, 1:
			x.generation++
		case 2:
			x.note++
		case 3:
			x.first = !x.first
		case 4:
			x.keeps = !x.keeps
		case 5:
			x.keys = r.IntN(4)
		case 6:
			x.repeat = r.IntN(4)
		case 7:
			x.absent = !x.absent
			x.removed = x.absent && r.IntN(2) == 0
		case 8:
			if !x.absent {
				x.was, x.name = x.name, x.name+"x"
			}
		case 9:
			x.byName = !x.byName
		case 10:
			x.refers = nil
			for j := range i {
				if r.IntN(3) == 0 {
					x.refers = append(x.refers, j)
				}
			}
		}
	}
}

// invoking returns a function that reports whether the object with a name invokes actions.
func invoking(all *draft) func(string) bool {
	return func(name string) bool {
		var i int
		if _, err := fmt.Sscanf(name, "o%d-", &i); err != nil {
			panic(name)
		}
		return all.things[i].acts > 0 && !all.things[i].absent && !all.things[i].inside
	}
}

// failures are the settings of on_failure that the test tries; "" omits the argument.
var failures = []string{"", "halt", "continue", "taint"}

// written returns the text of the configuration.
func written(all *draft) string {
	var root, inner strings.Builder
	root.WriteString("provider \"fake\" {\n}\nprovider \"fake\" {\n  alias = \"other\"\n  region = \"r4\"\n}\n")
	root.WriteString("provider \"fake\" {\n  alias = \"by\"\n  for_each = toset([\"r1\", \"r2\", \"r3\"")
	if all.region == 4 && all.repeat == 2 || slices.ContainsFunc(all.things, func(x *thing) bool { return x.region == 4 && !x.absent && x.repeat == 2 }) {
		root.WriteString(", \"a\", \"b\", \"c\"") // keys of the provider block for resources whose for_each has these keys
	}
	root.WriteString("])\n  region = each.key == \"r3\" ? \"r1\" : each.key\n}\n")
	key := repeated(&root, "module \"m\"", all.repeat, all.keys)
	fmt.Fprintf(&root, "  source = \"./m\"\n  n = \"%s\"\n", key)
	if p := providerOf(all.region, all.repeat); p != "" {
		fmt.Fprintf(&root, "  providers = {\n    fake = %s\n  }\n", p)
	}
	root.WriteString("}\n")
	inner.WriteString("variable \"n\" {\n}\n")
	for _, b := range []*strings.Builder{&root, &inner} {
		b.WriteString("action \"fake_act\" \"before\" {\n  config {\n    text = \"before ${caller.name}\"\n  }\n}\n")
		b.WriteString("action \"fake_act\" \"after\" {\n  config {\n    text = \"after ${caller.name}\"\n  }\n}\n")
	}
	for i, x := range all.things {
		if x.removed {
			fmt.Fprintf(&root, "removed {\n  from = %s\n  lifecycle {\n    destroy = %t\n  }\n}\n", x.address(x.name, x.inside), x.keeps)
		}
		if x.absent {
			continue
		}
		b := &root
		if x.inside {
			b = &inner
		}
		x.write(b, i, all)
		from, to := x.address(x.name, x.inside), x.address(x.name, x.inside)
		if x.was != "" {
			from = x.address(x.was, x.inside)
		} else if x.crossed && x.moves {
			from = x.address(x.name, !x.inside)
			from, to = strings.Replace(from, "module.m.", "module.m"+all.key()+".", 1), strings.Replace(to, "module.m.", "module.m"+all.key()+".", 1)
		}
		if from != to {
			fmt.Fprintf(&root, "moved {\n  from = %s\n  to = %s\n}\n", from, to)
		}
	}
	return root.String() + world.Module + inner.String()
}

// write appends the block of a resource, which has the index i.
func (x *thing) write(b *strings.Builder, i int, all *draft) {
	key := repeated(b, fmt.Sprintf("resource \"fake_thing\" %q", x.name), x.repeat, x.keys)
	if x.inside {
		key += "${var.n}"
	} else if p := providerOf(x.region, x.repeat); p != "" {
		fmt.Fprintf(b, "  provider = %s\n", p)
	}
	refs := ""
	for _, j := range x.refers {
		if y := all.things[j]; y.absent || y.inside != x.inside {
			continue
		} else if y.repeat == 0 {
			refs += "${fake_thing." + y.name + ".id}"
		} else if y.repeat == 3 {
			refs += "${join(\",\", fake_thing." + y.name + "[*].id)}"
		} else {
			refs += "${join(\",\", [for v in fake_thing." + y.name + " : v.id])}"
		}
	}
	name, note := x.object(i)+key, fmt.Sprintf("n%d", x.note)
	if x.byName {
		name += refs
	} else {
		note += refs
	}
	fmt.Fprintf(b, "  name = \"%s\"\n  note = \"%s\"\n  lifecycle {\n    create_before_destroy = %t\n", name, note, x.first)
	if x.keeps {
		b.WriteString("    destroy = false\n")
	}
	if x.acts > 0 {
		const trigger = "    action_trigger {\n      events = [%s]\n      actions = [action.fake_act.%s]\n%s    }\n"
		fmt.Fprintf(b, trigger, "before_update, before_destroy", "before", "")
		fmt.Fprintf(b, trigger, "after_create", "after", "      on_failure = "+failures[x.acts]+"\n")
		fmt.Fprintf(b, trigger, "after_update, after_destroy", "after", "")
	}
	if x.repeat == 3 {
		fmt.Fprintf(b, "    enabled = %t\n", x.keys > 0)
	}
	b.WriteString("  }\n}\n")
}

// repeated begins a block, and returns a text for names that differs in each of its instances.
func repeated(b *strings.Builder, header string, repeat, keys int) string {
	b.WriteString(header + " {\n")
	switch repeat {
	case 1:
		fmt.Fprintf(b, "  count = %d\n", keys)
		return "-${count.index}"
	case 2:
		fmt.Fprintf(b, "  for_each = toset(slice([\"a\", \"b\", \"c\"], 0, %d))\n", keys)
		return "-${each.key}"
	}
	return ""
}

// providerOf returns the provider instance of a resource or module, or "" for the default block; see thing.region.
func providerOf(region, repeat int) string {
	switch {
	case region == 4 && repeat == 2:
		return "fake.by[each.key]"
	case region == 5:
		return "fake.other"
	case region > 0:
		return fmt.Sprintf("fake.by[\"r%d\"]", min(region, 3))
	}
	return ""
}

// imports returns import blocks for some of the objects that runs have forgotten, by their id or their identity.
func (c *cloud) imports(r *rand.Rand, all *draft) string {
	var b strings.Builder
	for i, x := range all.things {
		region, name := x.region, x.object(i)
		if x.inside {
			region = all.region
		}
		if x.absent || x.repeat != 0 && x.repeat != 3 || x.inside && all.repeat != 0 || r.IntN(3) > 0 {
			continue
		}
		if region = min(region, 5); c.foreign[name+"@"+[]string{"", "r1", "r2", "r1", "r1", "r4"}[region]] == 0 {
			continue
		}
		by := fmt.Sprintf("id = \"id-%s\"", name)
		if r.IntN(2) == 0 {
			by = fmt.Sprintf("identity = {\n    name = %q\n  }", name)
		}
		fmt.Fprintf(&b, "import {\n  to = %s\n  %s\n}\n", x.address(x.name, x.inside), by)
	}
	return b.String()
}

// drawnOptions returns a function that sets random options of a command, and the name of these options.
func drawnOptions(r *rand.Rand, all *draft) (change func(*planning.Request), name string) {
	x := all.things[r.IntN(len(all.things))]
	text := x.address(x.name, x.inside)
	if x.inside {
		text = strings.Replace(text, "module.m", "module.m"+all.key(), 1)
	}
	if x.repeat == 1 && r.IntN(2) == 0 {
		text += "[0]"
	} else if x.repeat == 2 && r.IntN(2) == 0 {
		text += `["a"]`
	}
	target, err := addr.ParseTarget(text)
	if err != nil {
		panic(err)
	}
	moves := slices.ContainsFunc(all.things, func(x *thing) bool { return x.was != "" || x.crossed && x.moves })
	mode := plan.Normal
	if r.IntN(4) == 0 {
		mode, name = plan.Destroy, "-destroy "
	}
	switch n := r.IntN(6); {
	case n == 0 && !moves:
		return func(q *planning.Request) { q.Mode, q.Targets = mode, []addr.Target{target} }, name + "-target " + text
	case n < 3 && !moves:
		return func(q *planning.Request) { q.Mode, q.Excludes = mode, []addr.Target{target} }, name + "-exclude " + text
	case n == 3:
		i, err := addr.ParseInstance(text)
		if err != nil {
			panic(err)
		}
		return func(q *planning.Request) { q.Replace = []addr.Instance{i} }, "-replace " + text
	case n == 4 && r.IntN(3) == 0:
		return func(q *planning.Request) { q.Mode = plan.RefreshOnly }, "-refresh-only"
	case n == 4:
		return func(q *planning.Request) { q.Mode = mode }, name
	case n == 5:
		return func(q *planning.Request) { q.Mode, q.Refresh = mode, false }, name + "-refresh=false"
	}
	return nil, ""
}
