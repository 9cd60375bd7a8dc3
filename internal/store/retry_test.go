package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

var errConnectionLost = errors.New("connection reset")

// TestRetryAfter checks the pause that a service requests: seconds, or a date by the clock of the service. A very long
// pause is shortened.
func TestRetryAfter(t *testing.T) {
	now := time.Now().Add(-5 * time.Hour) // the clock of the service, which is five hours slow
	for text, want := range map[string]time.Duration{
		"12": 12 * time.Second, "0.5": 500 * time.Millisecond, "": 0, "soon": 0, "-3": 0, "90000": 2 * time.Minute,
		now.Add(30 * time.Second).UTC().Format(http.TimeFormat): 30 * time.Second, now.Add(-time.Minute).UTC().Format(http.TimeFormat): 0,
	} {
		h := http.Header{"Retry-After": {text}, "Date": {now.UTC().Format(http.TimeFormat)}}
		if got := store.RetryAfter(h); got != want {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}

// TestServerWithoutTLS checks that a request is not repeated if its address has https and the server has no TLS.
func TestServerWithoutTLS(t *testing.T) {
	for name, answer := range map[string]string{"http": "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "other": "220 ready\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(answer))
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		attempts := 0
		api := store.API{Client: store.Client()}
		err = store.Tries{Retries: 2, Shortest: time.Millisecond, Longest: time.Millisecond}.Do(t.Context(), func() error {
			attempts++
			_, err := api.Ask(t.Context(), http.MethodGet, &url.URL{Scheme: "https", Host: l.Addr().String()}, nil, nil)
			return err
		})
		if err == nil || attempts != 1 {
			t.Errorf("%s: %d attempts: %v", name, attempts, err)
		}
	}
}

// TestPauseAsked checks that no attempt is made before the time that the service requests.
func TestPauseAsked(t *testing.T) {
	const asked = 50 * time.Millisecond
	var at []time.Time
	err := store.Tries{Retries: 2, Shortest: time.Millisecond, Longest: time.Millisecond}.Do(t.Context(), func() error {
		at = append(at, time.Now())
		if len(at) == 3 {
			return nil
		}
		return &store.UnansweredError{Err: errConnectionLost, After: asked}
	})
	if err != nil || len(at) != 3 || at[1].Sub(at[0]) < asked || at[2].Sub(at[1]) < asked {
		t.Errorf("%v: %v", at, err)
	}
}

// TestWritesArePatient checks that a write is retried for at least a minute, whatever the number of retries, and that
// the user is informed once. With 0 retries, it is not retried.
func TestWritesArePatient(t *testing.T) {
	const factor = 1000
	store.Hurry(factor)
	t.Cleanup(func() { store.Hurry(1) })
	var notices []string
	tries := store.Settings{Notify: func(text string) { notices = append(notices, text) }}.Tries(0)
	began, n := time.Now(), 0
	fail := func(context.Context) error {
		n++
		return &store.UnansweredError{Err: errConnectionLost}
	}
	if err := tries.Times(2).Write(t.Context(), fail); !errors.Is(err, errConnectionLost) || time.Since(began) < time.Minute/factor || n < 4 {
		t.Errorf("given up after %s and %d attempts: %v", time.Since(began), n, err)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "connection reset") || strings.Contains(notices[0], "\n") {
		t.Errorf("told is %q", notices)
	}
	n = 0
	if _ = tries.Times(0).Write(t.Context(), fail); n != 1 {
		t.Errorf("%d attempts instead of one", n)
	}
}

// TestInterruptedWrite checks that the first interrupt, which ends the context, does not end a write. The second one
// ends Stop, which ends pauses and then the request in progress.
func TestInterruptedWrite(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	stop, second := context.WithCancel(t.Context())
	n := 0
	err := store.Tries{Retries: 9, Shortest: time.Hour, Longest: time.Hour, Stop: stop}.Write(ctx, func(ctx context.Context) error {
		interrupt()
		if n++; ctx.Err() != nil {
			t.Errorf("the write has ended: %v", ctx.Err())
		}
		second()
		return &store.UnansweredError{Err: errConnectionLost}
	})
	if n != 1 || !errors.Is(err, errConnectionLost) {
		t.Errorf("%d attempts: %v", n, err)
	}
	store.Hurry(1000)
	t.Cleanup(func() { store.Hurry(1) })
	err = store.Tries{Retries: 9, Stop: stop}.Write(t.Context(), func(ctx context.Context) error {
		<-ctx.Done() // the service does not answer before the request is cancelled
		return &store.UnansweredError{Err: ctx.Err()}
	})
	if err == nil || err.Error() != "it was interrupted" {
		t.Errorf("it says %v", err)
	}
}

// delayed is a store that answers its first write with an error, and executes this write only when the second one
// arrives. It rejects the second write.
type delayed struct {
	store.Memory
	first error
	n     int
}

func (l *delayed) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if l.n++; l.n == 1 && l.first != nil {
		return "", l.first
	}
	if _, err := l.Memory.Put(ctx, workspace, data, prev); err != nil {
		return "", err
	}
	return "", &store.StaleError{Workspace: workspace}
}

// TestOwnWriteIsNotStale checks that a write succeeds if the store rejects it only because an earlier attempt was
// executed.
func TestOwnWriteIsNotStale(t *testing.T) {
	for _, first := range []error{&store.UnansweredError{Err: errConnectionLost}} {
		l := &delayed{first: first}
		v, err := store.Retrying(l, store.Tries{Retries: 2}).Put(t.Context(), "w", []byte("{}"), "")
		_, now, _ := l.Get(t.Context(), "w")
		if err != nil || v != now || v == "" {
			t.Errorf("after %v: version %q, there is %q: %v", first, v, now, err)
		}
	}
}

// TestFile checks the paths of files in settings. A path may begin with "~" and contain variables, and it is relative
// to the directory of the configuration. If a file with the literal name exists, that file is used.
func TestFile(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "$X"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := store.Settings{Dir: dir, Getenv: func(n string) string { return map[string]string{"HOME": home, "SUB": "a/b"}[n] }}
	for path, want := range map[string]string{
		"": "", "x": filepath.Join(dir, "x"), "~/.aws/cr": filepath.Join(home, ".aws/cr"), "$HOME/cr": filepath.Join(home, "cr"), "${SUB}/c": filepath.Join(dir, "a/b/c"),
		"/abs": filepath.Join(filepath.VolumeName(dir), string(filepath.Separator), "abs"), "$X": filepath.Join(dir, "$X"), "~other/x": filepath.Join(dir, "~other/x"),
	} {
		if got := s.File(path); got != want {
			t.Errorf("%q is %q, not %q", path, got, want)
		}
	}
}

// TestBlank checks that Blank makes empty texts equal to unset ones. Some drivers set it.
func TestBlank(t *testing.T) {
	s := store.Settings{Config: cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("")}), Getenv: func(string) string { return "environment" }}
	if text, set := s.Text("a", "A"); text != "" || !set {
		t.Errorf("%q, %t", text, set)
	}
	s.Blank = true
	if text, set := s.Text("a", "A"); text != "environment" || !set {
		t.Errorf("%q, %t", text, set)
	}
}
