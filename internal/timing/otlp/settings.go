package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is the time limit for sending spans at the end of a run. OpenTelemetry's default is ten seconds, which
// would delay each command noticeably if the collector does not answer.
const defaultTimeout = 2 * time.Second

// Settings are the settings for sending spans to an OpenTelemetry collector.
type Settings struct {
	URL        string
	Headers    map[string]string
	Timeout    time.Duration // for all requests of a run together
	Gzip       bool
	Attributes [][2]string // names and values of the attributes of the OpenTelemetry resource

	roots *x509.CertPool // trusted certificates of collectors; nil: the certificates of the system
}

// Enabled reports whether the environment switches sending on: OTEL_TRACES_EXPORTER, a list separated by commas,
// contains otlp, and OTEL_SDK_DISABLED is not true. getenv returns the value of an environment variable.
func Enabled(getenv func(string) string) bool {
	names := strings.Split(getenv("OTEL_TRACES_EXPORTER"), ",")
	return slices.ContainsFunc(names, func(n string) bool { return strings.TrimSpace(n) == "otlp" }) && !strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true")
}

// Read reads the settings from the environment variables of OpenTelemetry. getenv returns the value of a variable, and
// file resolves the path of a file. If a variable has an invalid or unsupported value, the error names the variable.
func Read(getenv func(string) string, file func(string) string) (*Settings, error) {
	get := func(name string) (string, string) {
		own := "OTEL_EXPORTER_OTLP_TRACES_" + name
		if v := getenv(own); v != "" {
			return v, own
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name), "OTEL_EXPORTER_OTLP_" + name
	}
	s := &Settings{Timeout: defaultTimeout, Headers: map[string]string{}}
	if v, name := get("PROTOCOL"); v != "" && v != "http/json" {
		return nil, fmt.Errorf("%s is %q, but Lethe supports only http/json", name, v)
	}
	for _, unsupported := range []string{"CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if v, name := get(unsupported); v != "" {
			return nil, fmt.Errorf("%s is not supported", name)
		}
	}
	for _, name := range []string{"OTEL_TRACES_SAMPLER", "OTEL_PROPAGATORS"} {
		if v := getenv(name); v != "" && !slices.Contains([]string{"always_on", "parentbased_always_on", "tracecontext", "tracecontext,baggage"}, v) {
			return nil, fmt.Errorf("%s is %q, which is not supported", name, v)
		}
	}
	if err := s.endpoint(get); err != nil {
		return nil, err
	}
	if v, name := get("TIMEOUT"); v != "" {
		ms, err := strconv.ParseUint(v, 10, 32)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s must be a positive number of milliseconds, not %q", name, v)
		}
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	switch v, name := get("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		s.Gzip = true
	default:
		return nil, fmt.Errorf("%s must be gzip or none, not %q", name, v)
	}
	headers, name := get("HEADERS")
	pairs, err := pairs(headers)
	if err != nil {
		return nil, fmt.Errorf("%s is not a list of name=value", name) // the error omits the text, which may contain a token
	}
	for _, p := range pairs {
		s.Headers[p[0]] = p[1]
	}
	if s.Attributes, err = pairsOf(getenv); err != nil {
		return nil, err
	}
	return s, s.trust(get, file)
}

func pairsOf(getenv func(string) string) ([][2]string, error) {
	list, err := pairs(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of name=value")
	}
	if v := getenv("OTEL_SERVICE_NAME"); v != "" {
		list = slices.DeleteFunc(list, func(p [2]string) bool { return p[0] == "service.name" })
		list = append(list, [2]string{"service.name", v})
	}
	return list, nil
}

func (s *Settings) endpoint(get func(string) (string, string)) error {
	v, name := get("ENDPOINT")
	if v == "" {
		v = "http://localhost:4318"
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s must be a URL with http or https", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" { // only this variable lacks the path: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has the whole URL
		u = u.JoinPath("v1", "traces")
	}
	s.URL = u.String()
	return nil
}

func (s *Settings) trust(get func(string) (string, string), file func(string) string) error {
	v, name := get("CERTIFICATE")
	if v == "" {
		return nil
	}
	text, err := os.ReadFile(file(v))
	s.roots = x509.NewCertPool()
	if err != nil || !s.roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("the file of %s cannot be read, or has no certificates", name)
	}
	return nil
}

// client returns an HTTP client that follows no redirection, because a header may contain a token for the collector.
func (s *Settings) client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: s.roots}
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Collector returns the scheme and the host of the collector for messages. User names, paths and queries are missing,
// because they may contain credentials.
func (s *Settings) Collector() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "the collector"
	}
	return u.Scheme + "://" + u.Host
}

// Secrets returns the settings that no output may contain: the values of headers, and the password in the URL.
func (s *Settings) Secrets() []string {
	var out []string
	for _, v := range s.Headers {
		out = append(out, v)
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, is := u.User.Password(); is {
			out = append(out, password)
		}
	}
	return out
}

// reason returns the error of an HTTP request without the URL, which may contain credentials.
func reason(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// pairs parses name=value,name=value. Values have the encoding of URLs. Empty items are ignored. An item without a
// name, without an equals sign, or with an invalid encoding is an error.
func pairs(text string) (out [][2]string, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("not a pair")
		}
		out = append(out, [2]string{name, value})
	}
	return out, nil
}
