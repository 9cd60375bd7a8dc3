package trouble

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFail(t *testing.T) {
	for _, c := range []struct {
		name, spec, env, point, want string // want: one letter per call, f or -
	}{
		{"nothing", "", "", "create", "--"},
		{"always", "create", "", "create", "ff"},
		{"other point", "create-after", "", "create", "--"},
		{"several", "read, create", "", "create", "ff"},
		{"first two", "create*2", "", "create", "ff-"},
		{"from the second", "create@2", "", "create", "-ff"},
		{"by environment", "", "other:read;from-env:create*1", "create", "f-"},
		{"environment of another", "", "somebody:create", "create", "--"},
		{"environment of all", "", "*:create", "create", "f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(EnvFail, c.env)
			key := c.name
			if c.name == "by environment" {
				key = "from-env"
			}
			got := ""
			for range len(c.want) {
				if Fail(c.spec, c.point, key) != nil {
					got += "f"
				} else {
					got += "-"
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	t.Setenv(EnvDelay, "slow:create=30ms; *:open=1h")
	start := time.Now()
	if err := Wait(context.Background(), "1ms", "create", "slow"); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 30*time.Millisecond {
		t.Errorf("waited %s only", d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := Wait(ctx, "", "open", "any"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("interrupted: %v", err)
	}
	if err := Wait(context.Background(), "soon", "create", "x"); err == nil {
		t.Error("a delay that is no duration was accepted")
	}
}
