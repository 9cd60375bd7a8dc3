// Package limits defines limits for the resources that a configuration may use, and checks them.
//
// With limits, a mistake or an attack in a configuration causes an error instead of exhausting the memory of the
// machine. The defaults are far above the needs of usual configurations. docs/limits.md describes the limits.
package limits

import (
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the limits for one command. Filled replaces fields that are zero or less by the defaults. WallTime and
// Ends have no default: zero means no limit.
type Limits struct {
	Bytes     int64 // bytes of a file that is read, and of a string that an expression creates
	Tokens    int   // approximate words and symbols of one module; each takes 200 to 300 bytes of memory
	Nesting   int   // depth of nested brackets, blocks and templates; an operator counts as a tenth of a level
	Instances int   // instances of all blocks together; an instance of a module counts as ten
	Elements  int   // elements of a value, of an argument, and of all loops of one expression
	Memory    int64 // bytes of live heap; the memory for files and instances does not count
	Time      int64 // seconds for the evaluation of one expression
	WallTime  int64 // seconds for the whole command; 0 means no limit
	Templates int   // depth of nested template calls; Parse does not set it, only the environment variable TF_TEMPLATE_RECURSION_DEPTH

	Ends time.Time // the time when WallTime ends; zero: there is no such limit
}

// Filled returns l with the defaults for fields that are zero or less. WallTime has no default.
func (l Limits) Filled() Limits {
	fill(&l.Bytes, 256<<20)
	fill(&l.Tokens, 3_000_000)
	fill(&l.Nesting, 1_000)
	fill(&l.Instances, 1_000_000)
	fill(&l.Elements, 2_000_000)
	fill(&l.Memory, 400<<20)
	fill(&l.Time, 60)
	fill(&l.Templates, 1_024)
	return l
}

func fill[T int | int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Seconds returns the limit Time, which is a number of seconds, as a duration.
func (l Limits) Seconds() time.Duration { return seconds(l.Time) }

func seconds(n int64) time.Duration { return time.Duration(min(n, math.MaxInt32)) * time.Second }

// Since sets Ends to began plus WallTime, if WallTime is above zero.
func (l *Limits) Since(began time.Time) {
	if l.WallTime > 0 {
		l.Ends = began.Add(seconds(l.WallTime))
	}
}

// Grace returns how long calls in progress may continue after the end of WallTime: a tenth of WallTime, but at least
// five seconds and at most five minutes.
func (l Limits) Grace() time.Duration {
	return max(5*time.Second, min(5*time.Minute, seconds(l.WallTime)/10))
}

type named struct {
	name  string
	field any // a pointer to the field of Limits: *int or *int64
}

// all returns the limits that Parse accepts, by name, in the order of the table in docs/limits.md.
func (l *Limits) all() []named {
	return []named{
		{"bytes", &l.Bytes}, {"tokens", &l.Tokens}, {"nesting", &l.Nesting}, {"instances", &l.Instances},
		{"elements", &l.Elements}, {"memory", &l.Memory}, {"time", &l.Time}, {"wall", &l.WallTime},
	}
}

// Names returns the names that Parse accepts.
func Names() []string {
	var names []string
	for _, n := range new(Limits).all() {
		names = append(names, n.name)
	}
	return names
}

// Parse sets the limits that list contains, such as `tokens=6000000,bytes=512M`, and keeps the other limits. It returns
// an error for an unknown name, and for a value that is not a whole number above zero. Limits that precede the error in
// the list are set nevertheless.
func (l *Limits) Parse(list string) error {
	all := l.all()
	for part := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && text == "" {
			continue
		}
		i := slices.IndexFunc(all, func(n named) bool { return n.name == name })
		if i < 0 {
			return fmt.Errorf("there is no limit %q; there are: %s", name, strings.Join(Names(), ", "))
		}
		n, ok := Amount(text)
		if !ok {
			return fmt.Errorf("%s must be a whole number above zero, with K, M or G behind it for bytes, and not %q", name, text)
		}
		switch f := all[i].field.(type) {
		case *int:
			*f = int(min(n, math.MaxInt))
		case *int64:
			*f = n
		}
	}
	return nil
}

// Amount parses a whole number above zero, such as 5000 or 64M. The suffixes K, M and G multiply it by 1<<10, 1<<20 and
// 1<<30. Amount returns false for any other text, and for a number that int64 cannot hold.
func Amount(text string) (int64, bool) {
	unit := int64(1)
	if text != "" {
		if i := strings.IndexByte("KMG", text[len(text)-1]); i >= 0 {
			unit, text = 1<<(10*(i+1)), text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// Live returns the number of live bytes on the heap at the last garbage collection.
func Live() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// Exceeded returns a message about the first exceeded limit, or "" if no limit is exceeded. It checks three limits:
// Memory against the bytes of live heap minus spared, Time against the time since began, and Ends against the present
// time. l must have no zero fields (see Filled). The check takes about a microsecond.
func (l Limits) Exceeded(spared int64, began time.Time) string {
	switch {
	case Live()-spared > l.Memory:
		return fmt.Sprintf("more memory is in use than the limit of %d MB", l.Memory>>20)
	case time.Since(began) > l.Seconds():
		return fmt.Sprintf("it takes longer than the limit of %s", l.Seconds())
	case !l.Ends.IsZero() && time.Now().After(l.Ends):
		return fmt.Sprintf("the whole command takes longer than the limit of %s", seconds(l.WallTime))
	}
	return ""
}
