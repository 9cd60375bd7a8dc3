package stores

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/s3store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// startS3 runs a service with the bucket "states" until the end of the test, and returns its URL. around returns the
// handler that the server uses in place of the service's handler.
func startS3(t *testing.T, around func(http.Handler) http.Handler) string {
	backend := s3mem.New()
	check(t, backend.CreateBucket("states"))
	server := httptest.NewServer(around(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.URL
}

// plain is a value for the argument around that changes nothing.
func plain(h http.Handler) http.Handler { return h }

// s3Settings returns the settings of a store on the service at a URL. The settings in more replace the default
// settings.
func s3Settings(url string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{
		"bucket": cty.StringVal("states"), "key": cty.StringVal("net/a.tfstate"), "region": cty.StringVal("us-east-1"),
		"access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(url), "dynamodb": cty.StringVal(url + "/dynamodb")}),
	}
	for name, v := range more {
		s[name] = v
	}
	return s
}

// s3Opener returns a function that opens a store with settings.
func s3Opener(t *testing.T, settings map[string]cty.Value) func() store.Store {
	return func() store.Store {
		config, err := s3store.Driver.Schema.Coerce(cty.ObjectVal(settings))
		check(t, err)
		st, err := s3store.Driver.Open(ctx, store.Settings{Config: config, Schema: s3store.Driver.Schema, Getenv: os.Getenv})
		check(t, err)
		return st
	}
}

// TestS3 runs the contract of stores on a service, with each kind of lock.
func TestS3(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]map[string]cty.Value{
		"lock object": {"use_lockfile": cty.True},
		"table":       {"dynamodb_table": cty.StringVal("locks")},
		"both":        {"use_lockfile": cty.True, "dynamodb_table": cty.StringVal("locks"), "workspace_key_prefix": cty.StringVal("of/others")},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() store.Store {
				return s3Opener(t, s3Settings(startS3(t, withTable), lock))
			})
		})
		t.Run(name+" cut", func(t *testing.T) {
			storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
				c := &storetest.Interrupter{}
				url := startS3(t, func(h http.Handler) http.Handler {
					c.Handler = withTable(h)
					return c
				})
				return s3Opener(t, s3Settings(url, lock)), c
			})
		})
	}
}

// TestS3NoLock checks that no lock is broken if no kind of lock is configured.
func TestS3NoLock(t *testing.T) {
	st := s3Opener(t, s3Settings(startS3(t, plain), nil))()
	unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
	check(t, err)
	check(t, unlock(ctx))
	b := st.Capabilities().Breaker
	if err := b.Break(ctx, store.Default, "another"); err == nil || !strings.Contains(err.Error(), "use_lockfile") {
		t.Errorf("broken is a lock that there is not: %v", err)
	}
}

// withTable adds an empty table of DynamoDB with the name locks to a service. It supports only the requests of the
// store.
func withTable(next http.Handler) http.Handler {
	table := &table{items: map[string]map[string]string{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target := r.Header.Get("X-Amz-Target"); target != "" {
			table.serve(w, r, strings.TrimPrefix(target, "DynamoDB_20120810."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// table is a table of DynamoDB. Its key is the attribute LockID.
type table struct {
	sync.Mutex
	items map[string]map[string]string // attributes, keyed by LockID and by name
}

// attributes has the attributes of an item, all of which are texts, keyed by name.
type attributes map[string]struct{ S string }

// serve carries out a request with the operation target: PutItem, DeleteItem or GetItem.
func (t *table) serve(w http.ResponseWriter, r *http.Request, target string) {
	t.Lock()
	defer t.Unlock()
	var in struct {
		TableName, ConditionExpression, ProjectionExpression string
		Item, Key, ExpressionAttributeValues                 attributes
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	id := in.Key["LockID"].S + in.Item["LockID"].S
	had := t.items[id]
	refused := in.ConditionExpression == "attribute_not_exists(LockID)" && had != nil ||
		in.ConditionExpression == "Info = :held" && (had == nil || had["Info"] != in.ExpressionAttributeValues[":held"].S)
	switch {
	case in.TableName != "locks":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "no such table"}`)
	case refused:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "The conditional request failed"}`)
	case target == "PutItem":
		t.items[id] = map[string]string{}
		for name, v := range in.Item {
			t.items[id][name] = v.S
		}
		fmt.Fprint(w, `{}`)
	case target == "DeleteItem":
		delete(t.items, id)
		fmt.Fprint(w, `{}`)
	case target == "GetItem":
		out := map[string]map[string]map[string]string{}
		if had != nil {
			out["Item"] = map[string]map[string]string{}
			for name, v := range had {
				out["Item"][name] = map[string]string{"S": v}
			}
		}
		_ = json.NewEncoder(w).Encode(out)
	}
}

// TestS3CustomerKey checks that the service reads an object only with the key of its write. Without encrypt the key has
// no effect, as in Terraform.
func TestS3CustomerKey(t *testing.T) {
	var keys sync.Map // the keys of objects, by path
	around := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("X-Amz-Server-Side-Encryption-Customer-Key")
			if had, written := keys.Load(r.URL.Path); written && had != key && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `<Error><Code>InvalidRequest</Code><Message>The encryption parameters are not applicable to this object.</Message></Error>`)
				return
			}
			if r.Method == http.MethodPut {
				keys.Store(r.URL.Path, key)
			}
			next.ServeHTTP(w, r)
		})
	}
	key := base64.StdEncoding.EncodeToString([]byte("canary-4711-canary-4711-canary-4"))
	for encrypt, want := range map[bool]string{true: key, false: ""} {
		settings := map[string]cty.Value{"use_lockfile": cty.True, "sse_customer_key": cty.StringVal(key), "encrypt": cty.BoolVal(encrypt)}
		storetest.Run(t, func(t *testing.T) func() store.Store { return s3Opener(t, s3Settings(startS3(t, around), settings)) })
		keys.Range(func(path, had any) bool {
			if had != want {
				t.Errorf("with encrypt = %t, %s was written with the key %q", encrypt, path, had)
			}
			return true
		})
		keys.Clear()
	}
}

// TestS3Encrypt checks that the service is asked to encrypt the state and the lock as the settings specify.
func TestS3Encrypt(t *testing.T) {
	for name, tt := range map[string]struct {
		more      map[string]cty.Value
		mode, key string
	}{
		"a key of KMS":       {map[string]cty.Value{"encrypt": cty.True, "kms_key_id": cty.StringVal("arn:aws:kms:r:1:key/k"), "acl": cty.StringVal("private")}, "aws:kms", "arn:aws:kms:r:1:key/k"},
		"that of the bucket": {map[string]cty.Value{"encrypt": cty.True}, "AES256", ""},
		"none":               {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			written := 0
			url := startS3(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPut && strings.Count(r.URL.Path, "/") > 1 {
						written++
						mode, key, acl := r.Header.Get("X-Amz-Server-Side-Encryption"), r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"), r.Header.Get("X-Amz-Acl")
						if mode != tt.mode || key != tt.key || (acl == "private") != (tt.more["acl"] != cty.NilVal) {
							t.Errorf("%s is written with %q, the key %q and the ACL %q", r.URL.Path, mode, key, acl)
						}
					}
					next.ServeHTTP(w, r)
				})
			})
			settings := s3Settings(url, map[string]cty.Value{"use_lockfile": cty.True})
			maps.Copy(settings, tt.more)
			st := s3Opener(t, settings)()
			unlock, err := st.Lock(ctx, "w", store.NewLockInfo("o", "1"))
			check(t, err)
			_, err = st.Put(ctx, "w", []byte("{}"), "")
			check(t, err)
			check(t, unlock(ctx))
			if written != 2 {
				t.Errorf("%d objects were written", written)
			}
		})
	}
}

// TestS3Roles checks that a role is requested at the address in the settings, for every way to name the role. Only the
// settings determine the duration of a role, as in Terraform.
func TestS3Roles(t *testing.T) {
	dir := t.TempDir()
	token, conf, cred := filepath.Join(dir, "token"), filepath.Join(dir, "config"), filepath.Join(dir, "credentials")
	check(t, os.WriteFile(token, []byte("canary-4713"), 0o600))
	check(t, os.WriteFile(conf, []byte("[profile r]\nrole_arn = arn:aws:iam::123456789012:role/profile\nsource_profile = base\n"), 0o600))
	check(t, os.WriteFile(cred, []byte("[base]\naws_access_key_id = user\naws_secret_access_key = canary-4711\n"), 0o600))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	role := func(attrs map[string]cty.Value) cty.Value {
		attrs["role_arn"] = cty.StringVal("arn:aws:iam::123456789012:role/setting")
		return cty.ObjectVal(attrs)
	}
	for _, tt := range []struct {
		name     string
		env      map[string]string
		settings map[string]cty.Value
		want     []string // parts of the request's form
	}{
		{"a token that the environment names", map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/environment", "AWS_WEB_IDENTITY_TOKEN_FILE": token}, nil, []string{"AssumeRoleWithWebIdentity", "role/environment", "canary-4713"}},
		{"a profile", nil, map[string]cty.Value{"profile": cty.StringVal("r"), "shared_config_files": cty.ListVal([]cty.Value{cty.StringVal(conf)}), "shared_credentials_files": cty.ListVal([]cty.Value{cty.StringVal(cred)})}, []string{"AssumeRole", "role/profile"}},
		{"a setting", map[string]string{"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "canary-4711"}, map[string]cty.Value{"assume_role": role(map[string]cty.Value{})}, []string{"AssumeRole", "role/setting", "DurationSeconds:[900]"}},
		{"a setting with a duration", map[string]string{"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "canary-4711"}, map[string]cty.Value{"assume_role": role(map[string]cty.Value{"duration": cty.StringVal("30m")})}, []string{"DurationSeconds:[1800]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			var asked []string
			sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				check(t, r.ParseForm())
				asked = append(asked, r.URL.Path+fmt.Sprint(r.Form))
				action := r.Form.Get("Action")
				fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>user</AccessKeyId><SecretAccessKey>canary-4711</SecretAccessKey><SessionToken>canary-4712</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></%[1]sResult></%[1]sResponse>", action)
			}))
			t.Cleanup(sts.Close)
			tokens := map[string]bool{}
			url := startS3(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					tokens[r.Header.Get("X-Amz-Security-Token")] = true
					next.ServeHTTP(w, r)
				})
			})
			settings := s3Settings(url, tt.settings)
			delete(settings, "access_key")
			delete(settings, "secret_key")
			settings["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(url), "sts": cty.StringVal(sts.URL + "/of/sts")})
			_, err := s3Opener(t, settings)().List(ctx)
			check(t, err)
			for _, want := range append(tt.want, "/of/sts") {
				if len(asked) != 1 || !strings.Contains(asked[0], want) {
					t.Errorf("asked was %q, without %q", asked, want)
				}
			}
			if len(tokens) != 1 || !tokens["canary-4712"] {
				t.Errorf("the bucket was asked with the tokens %v", tokens)
			}
		})
	}
}

// TestS3NoDigest checks that a state is read without its checksum if the role may not read the table, or if the table
// does not exist. A warning reports this once.
func TestS3NoDigest(t *testing.T) {
	url := startS3(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Target") != "" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"__type": "com.amazonaws.dynamodb.v20120810#AccessDeniedException", "message": "no"}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := s3Opener(t, s3Settings(url, nil))().Put(ctx, store.Default, []byte("{}"), "")
	check(t, err)
	config, err := s3store.Driver.Schema.Coerce(cty.ObjectVal(s3Settings(url, map[string]cty.Value{"dynamodb_table": cty.StringVal("locks")})))
	check(t, err)
	var told []string
	st, err := s3store.Driver.Open(ctx, store.Settings{Config: config, Notify: func(text string) { told = append(told, text) }})
	check(t, err)
	for range 2 {
		data, v, err := st.Get(ctx, store.Default)
		if err != nil || string(data) != "{}" || v == "" {
			t.Errorf("there is %q of version %q: %v", data, v, err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "AccessDenied") || !strings.Contains(told[0], `"locks"`) {
		t.Errorf("told is %q", told)
	}
	if _, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1")); err == nil {
		t.Error("it is locked")
	}
}

// TestS3OldDigest checks that a state can be replaced if its checksum could not be written.
func TestS3OldDigest(t *testing.T) {
	hurried(t, 20)
	url := startS3(t, withTable)
	with := s3Opener(t, s3Settings(url, map[string]cty.Value{"dynamodb_table": cty.StringVal("locks")}))()
	v, err := with.Put(ctx, store.Default, []byte(`{"serial": 1}`), "")
	check(t, err)
	_, err = s3Opener(t, s3Settings(url, nil))().Put(ctx, store.Default, []byte(`{"serial": 2}`), v)
	check(t, err)
	_, _, err = with.Get(ctx, store.Default)
	var damaged *store.DamagedError
	if !errors.As(err, &damaged) || string(damaged.Data) != `{"serial": 2}` {
		t.Fatalf("%v", err)
	}
	_, err = with.Put(ctx, store.Default, []byte(`{"serial": 3}`), damaged.Version)
	check(t, err)
	data, _, err := with.Get(ctx, store.Default)
	if err != nil || string(data) != `{"serial": 3}` {
		t.Errorf("there is %q: %v", data, err)
	}
}
