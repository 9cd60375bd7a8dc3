package limits

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	var l Limits
	if err := l.Parse("tokens=5, bytes=2M,time=7"); err != nil || l.Tokens != 5 || l.Bytes != 2<<20 || l.Time != 7 {
		t.Errorf("%+v, %v", l, err)
	}
	for list, want := range map[string]string{
		"tokns=5": `no limit "tokns"; there are: bytes, tokens`, "tokens": "whole number", "tokens=0": "whole number",
		"tokens=-1": "whole number", "tokens=x": "whole number", "tokens=99999999999999999999": "whole number", "bytes=9999999999G": "whole number",
	} {
		if err := new(Limits).Parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", list, err, want)
		}
	}
}

// TestLimitsAreDescribed checks that docs/limits.md lists each limit with its default.
func TestLimitsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	all := new(Limits).all()
	for _, x := range all {
		if !strings.Contains(string(page), "| `"+x.name+"` |") {
			t.Errorf("docs/limits.md has no row for %s", x.name)
		}
	}
	if rows != len(all) {
		t.Errorf("docs/limits.md has %d rows for %d limits", rows, len(all))
	}
}

// TestWall checks that evaluations fail after the end of WallTime.
func TestWall(t *testing.T) {
	var l Limits
	if l.Since(time.Now()); !l.Ends.IsZero() || l.Exceeded(1<<40, time.Now()) != "" && l.Filled().Exceeded(1<<40, time.Now()) != "" {
		t.Error("there is a limit by default")
	}
	if err := l.Parse("wall=600"); err != nil {
		t.Fatal(err)
	}
	l = l.Filled()
	if l.Since(time.Now().Add(-9 * time.Minute)); l.Exceeded(1<<40, time.Now()) != "" {
		t.Error("it is over before its time")
	}
	if l.Since(time.Now().Add(-11 * time.Minute)); l.Exceeded(1<<40, time.Now()) != "the whole command takes longer than the limit of 10m0s" {
		t.Error("it is not over")
	}
	for limit, want := range map[string]time.Duration{"5": 5 * time.Second, "600": time.Minute, "36000": 5 * time.Minute} {
		if err := l.Parse("wall=" + limit); err != nil || l.Grace() != want {
			t.Errorf("%s: a grace of %s, %v", limit, l.Grace(), err)
		}
	}
}
