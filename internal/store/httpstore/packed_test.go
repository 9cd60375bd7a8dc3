package httpstore

import (
	"compress/gzip"
	"net/http"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// TestPackedAnswer checks that a compressed answer is read, and that its ETag, which identifies the compressed body, is
// not used as a condition of the write.
func TestPackedAnswer(t *testing.T) {
	for encoding, want := range map[string]string{"gzip": "", "GZIP": "", "": `"1-x"`} {
		condition := "none"
		st := opener(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				condition = r.Header.Get("If-Match")
				return
			}
			w.Header().Set("ETag", `"1-x"`)
			if encoding == "" {
				_, _ = w.Write([]byte("{}"))
				return
			}
			w.Header().Set("Content-Encoding", encoding)
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte("{}"))
			_ = z.Close()
		})), nil)()
		data, v, err := st.Get(ctx, store.Default)
		if err != nil || string(data) != "{}" {
			t.Fatalf("%q: %q %v", encoding, data, err)
		}
		if _, err := st.Put(ctx, store.Default, []byte(`{"serial":1}`), v); err != nil || condition != want {
			t.Errorf("%q: If-Match %q, %v", encoding, condition, err)
		}
	}
}
