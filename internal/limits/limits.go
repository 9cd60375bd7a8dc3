// Package limits is how much a configuration may ask for, and the watch over what it takes.
//
// Limits exist so that a mistake or an attack is an error instead of a machine without memory. They lie far above what
// is written on purpose. docs/limits.md describes them.
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

// Limits are how much one command may ask for. A field that is zero has its default.
type Limits struct {
	Bytes     int64 // of a file that is read, and of a string that is made
	Tokens    int   // words and symbols of one module, roughly: each takes 200 to 300 bytes of memory
	Nesting   int   // brackets, blocks and templates inside each other; an operator counts a tenth
	Instances int   // of all blocks together; one of a module counts as ten
	Elements  int   // of one value, of an argument of a function, and made by the loops of one expression
	Memory    int64 // bytes that live on the heap beside what was read and what instances take
	Time      int64 // seconds that one expression may take
	Wall      int64 // seconds that a whole command may take; 0: as long as it takes
	Templates int   // templates that call templates: TF_TEMPLATE_RECURSION_DEPTH

	Ends time.Time // when Wall is over; zero: never
}

// Filled is l with the defaults where it says nothing.
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

// Seconds is Time as a duration.
func (l Limits) Seconds() time.Duration { return seconds(l.Time) }

func seconds(n int64) time.Duration { return time.Duration(min(n, math.MaxInt32)) * time.Second }

// Since has the whole command end by Wall, from when it began.
func (l *Limits) Since(began time.Time) {
	if l.Wall > 0 {
		l.Ends = began.Add(seconds(l.Wall))
	}
}

// Grace is how long calls that are under way when Wall is over may go on: a tenth of it, five seconds at least and five
// minutes at most.
func (l Limits) Grace() time.Duration {
	return max(5*time.Second, min(5*time.Minute, seconds(l.Wall)/10))
}

type named struct {
	name  string
	field any // *int or *int64
}

// all lists what Parse knows, in the order of docs/limits.md.
func (l *Limits) all() []named {
	return []named{
		{"bytes", &l.Bytes}, {"tokens", &l.Tokens}, {"nesting", &l.Nesting}, {"instances", &l.Instances},
		{"elements", &l.Elements}, {"memory", &l.Memory}, {"time", &l.Time}, {"wall", &l.Wall},
	}
}

// Names are the names that Parse knows.
func Names() []string {
	var names []string
	for _, n := range new(Limits).all() {
		names = append(names, n.name)
	}
	return names
}

// Parse reads a list such as `tokens=6000000,bytes=512M` over what l has already.
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

// Amount reads 5000, 64M and the like; false for what is no whole number above zero.
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

// Live is how many bytes lived on the heap when garbage was last collected.
func Live() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// Exceeded says which limit of the whole run an evaluation has passed, "" if none: memory that lives beyond what is
// spared, in bytes, or time since it began. It takes about a microsecond.
func (l Limits) Exceeded(spared int64, began time.Time) string {
	switch {
	case Live()-spared > l.Memory:
		return fmt.Sprintf("more memory is in use than the limit of %d MB", l.Memory>>20)
	case time.Since(began) > l.Seconds():
		return fmt.Sprintf("it takes longer than the limit of %s", l.Seconds())
	case !l.Ends.IsZero() && time.Now().After(l.Ends):
		return fmt.Sprintf("the whole command takes longer than the limit of %s", seconds(l.Wall))
	}
	return ""
}
