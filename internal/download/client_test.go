package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server. It returns a client that does not wait between attempts.
func serve(t *testing.T, h http.HandlerFunc) (*Client, *url.URL) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &Client{Transport: s.Client().Transport, Retries: 3, pause: func(context.Context, time.Duration) error { return nil }}, u
}

func TestGetRepeats(t *testing.T) {
	for _, code := range []int{429, 500, 502, 503, 504} {
		var calls atomic.Int32
		c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) < 3 {
				w.WriteHeader(code)
				return
			}
			io.WriteString(w, "yes")
		})
		a, err := c.Get(t.Context(), u, 100)
		if err != nil || string(a.Body) != "yes" || calls.Load() != 3 {
			t.Errorf("%d: %v after %d calls", code, err, calls.Load())
		}
	}
}

func TestGetWaitsAsAsked(t *testing.T) {
	var waited time.Duration
	first := true
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		}
	})
	c.pause = func(_ context.Context, d time.Duration) error { waited = d; return nil }
	if _, err := c.Get(t.Context(), u, 100); err != nil || waited != 7*time.Second {
		t.Errorf("%v after waiting %s", err, waited)
	}
}

func TestGetFails(t *testing.T) {
	type server func(w http.ResponseWriter, r *http.Request)
	for _, x := range []struct {
		name   string
		server server
		calls  int32
		want   string
	}{
		{"not found", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, 1, "answered 404 Not Found"},
		{"always busy", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }, 4, "answered 503 Service Unavailable"},
		{"too large", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 101)) }, 1, "more than 100 bytes"},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, 10, "redirects more than 10 times"},
		{"to http", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/x?s=1", http.StatusFound)
		}, 1, "redirects to http://example.com/x, which is not protected"},
		{"to a file", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, 1, "not protected"},
		{"without place", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(302) }, 1, "cannot be read"},
		{"cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "50")
			io.WriteString(w, "x")
		}, 4, "the connection was interrupted"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var calls atomic.Int32
			c, u := serve(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1); x.server(w, r) })
			_, err := c.Get(t.Context(), u, 100)
			if err == nil || !strings.Contains(err.Error(), x.want) || calls.Load() != x.calls {
				t.Errorf("%v after %d calls", err, calls.Load())
			}
		})
	}
}

// Credentials are sent only to their host. After a redirect to another host, the client looks for credentials for that
// host.
func TestCredentialsStay(t *testing.T) {
	var got string
	_, other := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary" {
			w.WriteHeader(401)
			return
		}
		http.Redirect(w, r, other.String(), http.StatusFound)
	})
	c.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	c.Authorize = func(_ context.Context, r *http.Request) error {
		if r.URL.Host == u.Host {
			r.Header.Set("Authorization", "Bearer canary")
		}
		return nil
	}
	if _, err := c.Get(t.Context(), u, 100); err != nil || got != "" {
		t.Errorf("%v, the other host got %q", err, got)
	}
}

// No message contains parts of an address that may be secret.
func TestAddressesAreShown(t *testing.T) {
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) })
	u.User, u.RawQuery = url.UserPassword("user", "canary-1"), "token=canary-2"
	if _, err := c.Get(t.Context(), u, 100); err == nil || strings.Contains(err.Error(), "canary") || !IsStatus(err, 403) {
		t.Error(err)
	}
	u.Host = "localhost:1"
	if _, err := c.Get(t.Context(), u, 100); err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestSilence(t *testing.T) {
	release := make(chan bool)
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-release
	})
	defer close(release)
	c.Retries, c.Timeout, c.Stall = 0, 50*time.Millisecond, 50*time.Millisecond
	if _, err := c.Get(t.Context(), u, 100); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Error(err)
	}
	if _, err := c.Save(t.Context(), u, ToFile(file(t)), 100, nil); err == nil || !strings.Contains(err.Error(), "sent nothing for") {
		t.Error(err)
	}
}

func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A download continues after each cut if the server supports that, and is complete otherwise, too.
func TestSave(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	for _, resumes := range []bool{true, false} {
		t.Run(fmt.Sprint(resumes), func(t *testing.T) {
			var calls, sent atomic.Int64
			c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n := calls.Add(1)
				from := 0
				w.Header().Set("ETag", `"v1"`)
				if resumes && r.Header.Get("If-Range") == `"v1"` {
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
				if from > 0 {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
					w.WriteHeader(206)
				}
				part := content[from:]
				if n < 3 {
					part = part[:300<<10]
				}
				m, _ := w.Write(part)
				sent.Add(int64(m))
			})
			f := file(t)
			var done, all int64
			got, err := c.Save(t.Context(), u, ToFile(f), 2<<20, func(d, a int64) { done, all = d, a })
			if err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(f.Name())
			if !bytes.Equal(text, content) || got.Sum != sha256.Sum256(content) || got.Size != int64(len(content)) {
				t.Errorf("%d bytes, %d on disk", got.Size, len(text))
			}
			if done != got.Size || all != got.Size || calls.Load() != 3 {
				t.Errorf("%d of %d, %d calls", done, all, calls.Load())
			}
			if resumes != (sent.Load() == int64(len(content))) {
				t.Errorf("%d bytes were sent", sent.Load())
			}
		})
	}
}

// TestSaveParts checks that a wrong or short part does not damage the file, and that an unrequested part is rejected.
func TestSaveParts(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	for name, part := range map[string]func(from int) (start, end int, says string){
		"another":         func(from int) (int, int, string) { return from - 5, len(content), "" },
		"it says nothing": func(from int) (int, int, string) { return from, len(content), "none" },
		"another, it says": func(from int) (int, int, string) {
			return from, len(content), fmt.Sprintf("bytes 0-9/%d", len(content))
		},
		"shorter": func(from int) (int, int, string) { return from, min(from+5000, len(content)), "" },
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"v1"`)
				var from int
				switch n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); {
				case n == 1:
					start, end, says := part(from)
					if says == "" {
						says = fmt.Sprintf("bytes %d-%d/%d", start, end-1, len(content))
					}
					if says != "none" {
						w.Header().Set("Content-Range", says)
					}
					w.WriteHeader(206)
					w.Write(content[start:end])
				case first:
					first = false
					w.Header().Set("Content-Length", fmt.Sprint(len(content)))
					w.Write(content[:5000])
				default:
					w.Write(content)
				}
			})
			f := file(t)
			if _, err := c.Save(t.Context(), u, ToFile(f), 2<<20, nil); err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(f.Name()); !bytes.Equal(text, content) {
				t.Errorf("%d bytes, not %d, or others", len(text), len(content))
			}
		})
	}
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-99/%d", len(content)))
		w.WriteHeader(206)
		w.Write(content[:100])
	})
	if _, err := c.Save(t.Context(), u, ToFile(file(t)), 2<<20, nil); err == nil {
		t.Error("a part is taken for the file")
	}
	calls, changed := 0, bytes.Repeat([]byte("fedcba9876543210"), 1<<10)
	c, u = serve(t, func(w http.ResponseWriter, r *http.Request) { // the file changes after the first answer, and the server ignores If-Range
		if calls++; calls == 1 {
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			w.Write(content[:5000])
			return
		}
		w.Header().Set("ETag", `"v2"`)
		from := 0
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(changed)-1, len(changed)))
			w.WriteHeader(206)
		}
		w.Write(changed[from:])
	})
	f := file(t)
	if _, err := c.Save(t.Context(), u, ToFile(f), 2<<20, nil); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(f.Name()); !bytes.Equal(text, changed) {
		t.Error("the file is a mixture of two files")
	}
}

func TestSaveLimit(t *testing.T) {
	for _, stated := range []bool{true, false} {
		c, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if stated {
				w.Header().Set("Content-Length", "1000")
			}
			w.Write(make([]byte, 1000))
			w.(http.Flusher).Flush()
		})
		if _, err := c.Save(t.Context(), u, ToFile(file(t)), 999, nil); err == nil || !strings.Contains(err.Error(), "more than 999 bytes") {
			t.Error(err)
		}
	}
}

func TestEnd(t *testing.T) {
	c, u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })
	ctx, cancel := context.WithCancelCause(t.Context())
	c.pause = func(ctx context.Context, _ time.Duration) error {
		cancel(errors.New("interrupted"))
		return sleep(ctx, time.Hour)
	}
	if _, err := c.Get(ctx, u, 1); err == nil || err.Error() != "interrupted" {
		t.Error(err)
	}
}

// TestWhoCannotBeReached checks that the errors for an unknown authority and for a refusing proxy contain advice.
func TestWhoCannotBeReached(t *testing.T) {
	c, u := serve(t, func(http.ResponseWriter, *http.Request) {})
	c.Retries = 0
	c.Transport = connections(true)
	if _, err := c.Get(t.Context(), u, 10); err == nil || !strings.Contains(err.Error(), "in SSL_CERT_FILE") {
		t.Error(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("user", "canary")
	c.Transport.(*http.Transport).Proxy = http.ProxyURL(at)
	if _, err := c.Get(t.Context(), u, 10); err == nil || !strings.Contains(err.Error(), "the proxy "+at.Host+" answered 407") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
