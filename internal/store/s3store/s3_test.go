package s3store

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestNoCredentials checks that no request is sent if a role cannot be assumed, and that the role is requested again
// only if that may help.
func TestNoCredentials(t *testing.T) {
	for status, again := range map[int]bool{http.StatusForbidden: false, http.StatusServiceUnavailable: true} {
		sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>Trouble</Code><Message>not now</Message></Error></ErrorResponse>")
		}))
		t.Cleanup(sts.Close)
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("r"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_lockfile": cty.True,
			"assume_role": cty.ObjectVal(map[string]cty.Value{"role_arn": cty.StringVal("arn:aws:iam::123456789012:role/states")}),
			"endpoints":   cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal("http://s3.invalid"), "sts": cty.StringVal(sts.URL)}),
		}))
		if err != nil {
			t.Fatal(err)
		}
		o, err := optionsOf(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(o).Lock(t.Context(), "w", store.NewLockInfo("o", "1"))
		var noAnswer *store.UnansweredError
		if is := errors.As(err, &noAnswer); is != again || is && !noAnswer.Unsent {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestAskedLater checks which errors of S3 and STS ask to repeat a request.
func TestAskedLater(t *testing.T) {
	for _, tt := range []struct {
		status      int
		code        string
		again, open bool // again: the request is repeated; open: the service may have executed the request
	}{
		{400, "RequestTimeout", true, true}, {403, "RequestTimeTooSkewed", true, false}, {409, "ConditionalRequestConflict", true, false}, {409, "OperationAborted", true, false},
		{503, "SlowDown", true, false}, {500, "InternalError", true, true}, {400, "Throttling", true, false}, {400, "InvalidIdentityToken", true, false}, {400, "IDPCommunicationError", true, false},
		{429, "Odd", true, false}, {403, "AccessDenied", false, false}, {400, "InvalidRequest", false, false},
	} {
		for _, of := range []string{"s3", "sts"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(tt.status)
				form := "<Error><Code>%s</Code><Message>m</Message></Error>"
				if of == "sts" {
					form = "<ErrorResponse>" + form + "</ErrorResponse>"
				}
				fmt.Fprintf(w, form, tt.code)
			}))
			t.Cleanup(server.Close)
			settings := map[string]cty.Value{
				"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
				"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.URL), "sts": cty.StringVal(server.URL)}),
			}
			if of == "sts" {
				settings["assume_role"] = cty.ObjectVal(map[string]cty.Value{"role_arn": cty.StringVal("arn:aws:iam::123456789012:role/states")})
			}
			config, err := Driver.Schema.Coerce(cty.ObjectVal(settings))
			if err != nil {
				t.Fatal(err)
			}
			o, err := optionsOf(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = New(o).Get(t.Context(), store.Default)
			var noAnswer *store.UnansweredError
			if is := errors.As(err, &noAnswer); is != tt.again || is && (noAnswer.Unsent == tt.open) && of == "s3" || is && noAnswer.After != 3*time.Second {
				t.Errorf("%s %d %s: %v %+v", of, tt.status, tt.code, err, noAnswer)
			}
		}
	}
}

// TestEmptyObject checks that an empty object counts as no state, and that a write replaces it with If-Match, not
// If-None-Match.
func TestEmptyObject(t *testing.T) {
	var had, none string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			had, none = r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
		}
		w.Header().Set("ETag", `"empty"`)
	}))
	t.Cleanup(server.Close)
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
		"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.URL)}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if _, v, err := st.Get(t.Context(), store.Default); err != nil || v != "" {
		t.Errorf("version %q: %v", v, err)
	}
	if _, err := st.Put(t.Context(), store.Default, []byte("{}"), ""); err != nil || had != `"empty"` || none != "" {
		t.Errorf("If-Match %q, If-None-Match %q: %v", had, none, err)
	}
}

// TestAddressAsGiven checks that requests go to the configured addresses of services even if the settings or the
// environment select FIPS or dual-stack endpoints.
func TestAddressAsGiven(t *testing.T) {
	for _, tt := range []struct {
		settings map[string]cty.Value
		env      string
	}{
		{map[string]cty.Value{"use_fips_endpoint": cty.True}, ""}, {map[string]cty.Value{"use_dualstack_endpoint": cty.True}, ""},
		{nil, "AWS_USE_FIPS_ENDPOINT"}, {nil, "AWS_USE_DUALSTACK_ENDPOINT"},
	} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.settings, tt.env, all), func(t *testing.T) {
				asked := map[string]bool{}
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if asked[r.Method] = true; r.Method == http.MethodPost { // a POST request is for STS, which returns the identity
						fmt.Fprint(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>")
						return
					}
					w.WriteHeader(http.StatusNotFound)
				}))
				t.Cleanup(server.Close)
				settings := map[string]cty.Value{
					"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
					"allowed_account_ids": cty.SetVal([]cty.Value{cty.StringVal("123456789012")}),
				}
				if all {
					t.Setenv("AWS_ENDPOINT_URL", server.URL)
				} else {
					settings["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.URL), "sts": cty.StringVal(server.URL)})
				}
				if tt.env != "" {
					t.Setenv(tt.env, "true")
				}
				maps.Copy(settings, tt.settings)
				config, err := Driver.Schema.Coerce(cty.ObjectVal(settings))
				if err != nil {
					t.Fatal(err)
				}
				st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
				if err == nil {
					_, _, err = st.Get(t.Context(), store.Default)
				}
				if err != nil || !asked[http.MethodGet] || !asked[http.MethodPost] {
					t.Errorf("%v, requests %v", err, asked)
				}
			})
		}
	}
}

// TestAttempts checks that max_retries is the number of attempts of a request that reads, as in Terraform. 0 means one
// attempt, too.
func TestAttempts(t *testing.T) {
	for set, want := range map[int64]int{0: 1, 1: 1, 2: 2, 3: 3} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(http.StatusInternalServerError)
		}))
		t.Cleanup(server.Close)
		if _, _, err := opened(t, server.URL, set).Get(t.Context(), store.Default); err == nil || asked != want {
			t.Errorf("max_retries = %d: %d requests: %v", set, asked, err)
		}
	}
}

// TestIgnoredCondition checks that a lock excludes others if the service ignores If-None-Match.
func TestIgnoredCondition(t *testing.T) {
	objects := sync.Map{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.Method {
		case http.MethodPut:
			objects.Store(r.URL.Path, body)
		case http.MethodDelete:
			objects.Delete(r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
		default:
			if data, ok := objects.Load(r.URL.Path); ok {
				_, _ = w.Write(data.([]byte))
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		}
	}))
	t.Cleanup(server.Close)
	st := opened(t, server.URL, 0)
	for range 2 {
		unlock, err := st.Lock(t.Context(), store.Default, store.NewLockInfo("one", "1"))
		if err != nil {
			t.Fatal(err)
		}
		var held *store.LockError
		if _, err := opened(t, server.URL, 0).Lock(t.Context(), store.Default, store.NewLockInfo("two", "1")); !errors.As(err, &held) || held.Held == nil || held.Held.Operation != "one" {
			t.Errorf("%v", err)
		}
		if err := unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// opened opens the store at a URL with use_lockfile and a value of max_retries.
func opened(t *testing.T, url string, retries int64) store.Store {
	t.Helper()
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
		"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
		"use_lockfile": cty.True, "max_retries": cty.NumberIntVal(retries), "endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(url)}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestServiceWithoutConditions checks that a state is written without a condition if the service refuses the header of
// the condition, and that a lock object is refused at once with an explanation.
func TestServiceWithoutConditions(t *testing.T) {
	for code, status := range map[string]int{"NotImplemented": 501, "InvalidArgument": 400, "InvalidRequest": 400} {
		stored, asked := "", 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method == http.MethodPut {
				asked++
			}
			switch {
			case r.Method != http.MethodPut:
				w.WriteHeader(http.StatusNotFound)
			case r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "":
				w.WriteHeader(status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>A header implies functionality that is not implemented</Message></Error>", code)
			default:
				stored = string(body)
				w.Header().Set("ETag", `"e"`)
			}
		}))
		t.Cleanup(server.Close)
		st := opened(t, server.URL, 0)
		if _, err := st.Put(t.Context(), store.Default, []byte("{}"), ""); err != nil || stored != "{}" {
			t.Errorf("%s: stored %q: %v", code, stored, err)
		}
		asked = 0
		var noAnswer *store.UnansweredError
		_, err := st.Lock(t.Context(), store.Default, store.NewLockInfo("o", "1"))
		if err == nil || errors.As(err, &noAnswer) || asked != 1 || status == 501 && !strings.Contains(err.Error(), "use_lockfile needs a service") {
			t.Errorf("%s: the lock with %d writes: %v", code, asked, err)
		}
	}
}

// TestChangingLock checks that Lock tries again if the lock was released between the refusal and the reading of its
// holder.
func TestChangingLock(t *testing.T) {
	for code, status := range map[string]int{"PreconditionFailed": 412, "ConditionalRequestConflict": 409} {
		refusals := 2
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
			case refusals > 0:
				refusals--
				w.WriteHeader(status)
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
			}
		}))
		t.Cleanup(server.Close)
		if _, err := opened(t, server.URL, 5).Lock(t.Context(), store.Default, store.NewLockInfo("o", "1")); err != nil || refusals != 0 {
			t.Errorf("%s: %v, %d refusals left", code, err, refusals)
		}
	}
}

// TestForeignLock checks that a lock object whose content does not describe a holder has an ID by which force-unlock
// removes it. Other IDs do not remove it.
func TestForeignLock(t *testing.T) {
	for _, content := range []string{"", "x", "{}", `{"ID": 7}`} {
		exists := true
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut && exists:
				w.WriteHeader(http.StatusPreconditionFailed)
				fmt.Fprint(w, "<Error><Code>PreconditionFailed</Code></Error>")
			case r.Method == http.MethodDelete:
				exists = false
				w.WriteHeader(http.StatusNoContent)
			case !exists:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
			default:
				w.Header().Set("ETag", `"e"`)
				fmt.Fprint(w, content)
			}
		}))
		t.Cleanup(server.Close)
		st := opened(t, server.URL, 0)
		_, err := st.Lock(t.Context(), store.Default, store.NewLockInfo("o", "1"))
		var held *store.LockError
		if !errors.As(err, &held) || held.Held == nil || held.Held.ID == "" || held.Held.Path != "states/k" {
			t.Errorf("%q: %v", content, err)
			continue
		}
		b := st.Capabilities().Breaker
		if err := b.Break(t.Context(), store.Default, "other"); !errors.As(err, &held) || !exists {
			t.Errorf("%q broken with another ID: %v", content, err)
		}
		if err := b.Break(t.Context(), store.Default, held.Held.ID); err != nil || exists {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestForeignItem checks that an item of the table that describes no holder is a lock, and that force-unlock removes it
// by the ID in the message.
func TestForeignItem(t *testing.T) {
	for info, condition := range map[string]string{``: `attribute_not_exists(Info)`, `, "Info": {"S": "x"}`: `Info = :held`} {
		exists, asked := true, ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			target := r.Header.Get("X-Amz-Target")
			switch {
			case strings.HasSuffix(target, ".PutItem") && exists:
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"__type": "x#ConditionalCheckFailedException"}`)
			case strings.HasSuffix(target, ".GetItem") && exists:
				fmt.Fprintf(w, `{"Item": {"LockID": {"S": "states/k"}%s}}`, info)
			case strings.HasSuffix(target, ".DeleteItem"):
				exists, asked = false, string(body)
				fmt.Fprint(w, `{}`)
			default:
				fmt.Fprint(w, `{}`)
			}
		}))
		t.Cleanup(server.Close)
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"),
			"dynamodb_table": cty.StringVal("locks"), "endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.URL), "dynamodb": cty.StringVal(server.URL)}),
		}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Lock(t.Context(), store.Default, store.NewLockInfo("o", "1"))
		var held *store.LockError
		if !errors.As(err, &held) || held.Held == nil || held.Held.ID == "" {
			t.Errorf("%q: %v", info, err)
			continue
		}
		if err := st.Capabilities().Breaker.Break(t.Context(), store.Default, held.Held.ID); err != nil || exists || !strings.Contains(asked, condition) {
			t.Errorf("%q: asked %s: %v", info, asked, err)
		}
	}
}
