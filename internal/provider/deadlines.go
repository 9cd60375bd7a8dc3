package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Deadlines are the times within which a provider must answer. Zero means no deadline.
type Deadlines struct {
	Start     time.Duration // from the start of the provider's program to its handshake (its first line of output)
	Configure time.Duration
	Open      time.Duration // opening one ephemeral resource
	Renew     time.Duration
	Close     time.Duration
	Stop      time.Duration // until the provider confirms that it will stop its running calls
	Change    time.Duration // creating, updating and destroying one object
}

// DefaultDeadlines returns the deadlines that apply if the user sets no others. Changes have no deadline, because a
// long change may be about to finish.
func DefaultDeadlines() Deadlines {
	return Deadlines{Start: time.Minute, Configure: 10 * time.Minute, Open: 10 * time.Minute, Renew: time.Minute, Close: time.Minute, Stop: time.Second}
}

// all returns the names of the deadlines for Parse, and pointers to the fields that they set, in the same order.
func (d *Deadlines) all() ([]string, []*time.Duration) {
	return []string{"start", "configure", "open", "renew", "close", "stop", "change"},
		[]*time.Duration{&d.Start, &d.Configure, &d.Open, &d.Renew, &d.Close, &d.Stop, &d.Change}
}

// Parse parses a list such as `open=30s,change=2h`, and overrides the deadlines in d that the list names. `none` means
// no deadline. It is permitted only for configure, open and change. Parse returns an error for an unknown name or an
// invalid duration.
func (d *Deadlines) Parse(list string) error {
	names, fields := d.all()
	for part := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && text == "" {
			continue
		}
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("there is no deadline %q; the deadlines are: %s", name, strings.Join(names, ", "))
		}
		may := name == "configure" || name == "open" || name == "change"
		limit, err := time.ParseDuration(text)
		switch {
		case text == "none" && may:
			limit = 0
		case err != nil || limit <= 0:
			word := ""
			if may {
				word = ", or none"
			}
			return fmt.Errorf("%s must be a duration, such as 30s or 5m%s, not %q", name, word, text)
		}
		*fields[i] = limit
	}
	return nil
}

// DeadlineError is the cause with which a context ends when a deadline passes.
type DeadlineError struct {
	Name  string // the name of the deadline in the list that Parse reads, such as open
	Limit time.Duration
}

func (e *DeadlineError) Error() string { return fmt.Sprintf("there was no answer within %s", e.Limit) }

// Within returns a context that ends with a DeadlineError after limit. If limit is 0, the context has no deadline.
func Within(ctx context.Context, name string, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, &DeadlineError{name, limit})
}

// DeadlinesVariable is the environment variable that sets deadlines, in the format of Deadlines.Parse.
const DeadlinesVariable = "LETHE_DEADLINES"
