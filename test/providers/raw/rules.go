package raw

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// A rule selects a fault and the calls in which it occurs. Rules are written
//
//	CALL[/KEY][@N]=DEED[:ARGUMENT]
//
// separated by semicolons. CALL is one of these names:
//
//   - the name of an RPC of protocol 6, or its first word if that is unique (Plan, Apply, Read, Open, Renew, Close,
//     Configure, Import, Move, Upgrade, Stop, ...);
//   - Create, Update or Delete for a kind of Apply, and PlanCreate, PlanUpdate or PlanDelete for a kind of Plan;
//   - * for any call.
//
// KEY is the name or ID of an object. With @N only the N-th such call of this process counts. Examples:
//
//	Create/web=after-kill
//	Read=set:size=7; Apply@2=malformed
type rule struct {
	call, key string
	nth       int // the fault occurs only in the nth such call; 0: in every such call
	deed
}

// A deed is one fault with its argument.
type deed struct{ name, arg string }

// environment returns the rules in PLAYGROUND_ROGUE, which are for the whole process.
func environment() ([]rule, error) { return parse(os.Getenv(EnvRules)) }

// parse returns the rules in a text. A rule without a deed, with an unknown deed, or with a number that is none is an
// error.
func parse(spec string) ([]rule, error) {
	var rules []rule
	for text := range strings.SplitSeq(spec, ";") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		when, what, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("rule %q: wanted CALL=DEED", text)
		}
		r := rule{}
		r.name, r.arg, _ = strings.Cut(what, ":")
		if early[r.name] == nil && late[r.name] == nil {
			return nil, fmt.Errorf("rule %q: there is no deed %q", text, r.name)
		}
		when, count, counted := strings.Cut(when, "@")
		if counted {
			n, err := strconv.Atoi(count)
			if err != nil {
				return nil, fmt.Errorf("rule %q: %w", text, err)
			}
			r.nth = n
		}
		r.call, r.key, _ = strings.Cut(when, "/")
		rules = append(rules, r)
	}
	return rules, nil
}

var (
	countMu sync.Mutex
	counts  = map[string]int{}
)

// deeds returns the faults that apply to a scene: first from the provider's rules, and then from the object's own
// rules. Invalid rules of the object are an error.
func (r *rogue) deeds(sc *scene) ([]deed, error) {
	own, err := parse(sc.spec)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	given := r.rules
	r.mu.Unlock()
	var list []deed
	for _, rules := range [][]rule{given, own} {
		for _, u := range rules {
			if u.meets(sc) {
				list = append(list, u.deed)
			}
		}
	}
	return list, nil
}

// meets reports whether a rule applies to a scene. For a rule with @N, it counts the scene.
func (u *rule) meets(sc *scene) bool {
	if u.key != "" && u.key != sc.key {
		return false
	}
	found := u.call == "*"
	for _, name := range sc.names {
		found = found || u.call == name
	}
	if !found || u.nth == 0 {
		return found
	}
	countMu.Lock()
	defer countMu.Unlock()
	id := fmt.Sprintf("%s/%s@%d=%s:%s %s", u.call, u.key, u.nth, u.name, u.arg, sc.key)
	counts[id]++
	return counts[id] == u.nth
}
