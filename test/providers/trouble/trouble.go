// Package trouble makes the playground providers fail and wait on demand.
//
// A provider asks at named points ("create", "renew", ...) whether it must fail. The answer is in a specification,
// which is a list separated by commas or blanks:
//
//	create      every create fails
//	renew*2     the first two fail, later ones work
//	renew@3     the third and all later ones fail
//
// Calls are counted per point and object in this process. Points outside the specification are not counted.
//
// A specification comes from the object's configuration (its attribute fail_on) or from PLAYGROUND_FAIL, with which a
// test can change the behaviour without changing the configuration. PLAYGROUND_FAIL is a list separated by semicolons
// of KEY:SPECIFICATION, where KEY is the object's name or *. PLAYGROUND_DELAY is a similar list of KEY:POINT=DURATION.
package trouble

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Environment variables that this package reads.
const (
	EnvFail  = "PLAYGROUND_FAIL"
	EnvDelay = "PLAYGROUND_DELAY"
)

var (
	mu    sync.Mutex
	count = map[string]int{}
)

// Fail returns an error if the specification of the object's configuration, or PLAYGROUND_FAIL, requires the point to
// fail for the object with the key. If one of them names the point with a count, Fail counts the call.
func Fail(spec, point, key string) error {
	for entry := range strings.SplitSeq(os.Getenv(EnvFail), ";") {
		if k, s, ok := strings.Cut(strings.TrimSpace(entry), ":"); ok && (k == "*" || k == key) {
			spec += "," + s
		}
	}
	split := func(r rune) bool { return r == ',' || r == ' ' }
	for _, word := range strings.FieldsFunc(spec, split) {
		if hit(word, point, key) {
			return fmt.Errorf("%s of %q failed, as asked for by %q", point, key, word)
		}
	}
	return nil
}

// hit reports whether one word of a specification applies to this call. If the word has a number, hit counts the call.
func hit(word, point, key string) bool {
	if name, first, ok := strings.Cut(word, "*"); ok {
		return name == point && nth(word, key) <= number(first)
	}
	if name, from, ok := strings.Cut(word, "@"); ok {
		return name == point && nth(word, key) >= number(from)
	}
	return word == point
}

// nth returns the number of calls that matched a word for a key, including this one.
func nth(word, key string) int {
	mu.Lock()
	defer mu.Unlock()
	count[word+"\x00"+key]++
	return count[word+"\x00"+key]
}

// number returns the number in s, or 1 if s is no number.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1
	}
	return n
}

// Wait sleeps for the delay of the object's configuration, or for a delay of PLAYGROUND_DELAY for the point and the
// key, whichever is longer. delay is a duration of Go, or "" for none. An invalid duration is an error. If ctx ends
// first, the error wraps the cause of ctx.
func Wait(ctx context.Context, delay, point, key string) error {
	d, err := duration(delay)
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(os.Getenv(EnvDelay), ";") {
		k, rest, _ := strings.Cut(strings.TrimSpace(entry), ":")
		p, text, ok := strings.Cut(rest, "=")
		if !ok || (k != "*" && k != key) || p != point {
			continue
		}
		e, err := duration(text)
		if err != nil {
			return err
		}
		d = max(d, e)
	}
	return sleep(ctx, d, point, key)
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

func sleep(ctx context.Context, d time.Duration, point, key string) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s of %q was interrupted: %w", point, key, context.Cause(ctx))
	}
}
