package registrytest

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Bucket adds an object to a store with the protocol of S3, at /BUCKET/KEY. Requests must be signed (AWS4-HMAC-SHA256)
// with the key for the region. It returns the address of the object.
func (s *Server) Bucket(path string, content []byte, id, secret, region string) string {
	hidden := "/.bucket" + path
	u := s.Put(hidden, content)
	s.Fault(path, func(w http.ResponseWriter, r *http.Request) {
		if why := unsigned(r, id, secret, region); why != "" {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>%s</Message></Error>", why)
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path = hidden
		s.ServeHTTP(w, inner)
	})
	return strings.Replace(u, "/.bucket", "", 1)
}

// unsigned returns the reason why the signature of a request is invalid, "" if it is valid. It follows the
// documentation of S3.
func unsigned(r *http.Request, id, secret, region string) string {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "there is no signature"
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[name] = value
	}
	date := r.Header.Get("X-Amz-Date")
	scope := date[:min(8, len(date))] + "/" + region + "/s3/aws4_request"
	if parts["Credential"] != id+"/"+scope {
		return "it is for " + parts["Credential"]
	}
	signed := strings.Split(parts["SignedHeaders"], ";")
	if !slices.Contains(signed, "host") || !slices.Contains(signed, "x-amz-date") {
		return "too little is signed"
	}
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + query(r.URL.Query()) + "\n"
	for _, name := range signed {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + parts["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256")
	sum := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + secret)
	for _, text := range []string{date[:min(8, len(date))], region, "s3", "aws4_request", "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(sum[:])} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		key = h.Sum(nil)
	}
	if hex.EncodeToString(key) != parts["Signature"] {
		return "it is not the signature of the request"
	}
	return ""
}

// query returns a query in the form that is signed.
func query(q url.Values) string { return strings.ReplaceAll(q.Encode(), "+", "%20") }

// Storage adds an object to a store with the protocol of Google Cloud Storage. Requests must contain the token. A
// service account receives the token; Storage writes its key into file.
func (s *Server) Storage(bucket, object string, content []byte, token, file string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	s.Fault("/google/token", func(w http.ResponseWriter, r *http.Request) {
		head, signature, _ := cutLast(r.FormValue("assertion"), ".")
		sum := sha256.Sum256([]byte(head))
		raw, err := base64.RawURLEncoding.DecodeString(signature)
		if err != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], raw) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, token)
	})
	s.Put("/.storage/"+object, content)
	s.Fault("/storage/v1/b/"+bucket+"/o/"+object, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token || r.FormValue("alt") != "media" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path = "/.storage/" + object
		s.ServeHTTP(w, inner)
	})
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "tests", "private_key_id": "1", "client_email": "tests@example.test", "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": "https://" + s.Host + "/google/token",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
