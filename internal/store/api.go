package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// API is the client of a service with an HTTP API. It sends each request once.
type API struct {
	Client interface {
		Do(*http.Request) (*http.Response, error)
	}
	Header http.Header // the header fields of every request
	// Sign adds the caller's credentials to a request. nil means that no credentials are added.
	Sign func(req *http.Request, body []byte) error
	// ErrorMessage extracts the message of the service from the text of a refusal. If it is nil, the whole text is the
	// message.
	ErrorMessage func(text []byte) string
	// Signed is true for presigned URLs, which give access to everyone who knows the URL. Errors then name only the host,
	// not the path and the query.
	Signed bool
}

// name returns the address of a request in the form for error messages: only the host if a.Signed is true.
func (a *API) name(to *url.URL) string {
	if a.Signed {
		return to.Scheme + "://" + to.Host
	}
	return Shown(to)
}

// Shown returns an address in the form for messages: without its password, and without the query, which often contains
// tokens. A user without a password may be a token, too.
func Shown(to *url.URL) string {
	u := *to
	u.RawQuery, u.ForceQuery = "", false
	if password, _ := u.User.Password(); u.User != nil && password == "" {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

// Answer is the complete answer of a service.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Transformed is true if the service compressed the body for the transfer. Ask has decompressed Body. The ETag in
	// Header then belongs to the compressed body.
	Transformed bool

	to string // method and address of the request
}

// RefusedError reports that a service answered a request with a status outside 2xx, or with 206. Its text contains the
// message of the service.
type RefusedError struct {
	Answer
	text string
}

func (e *RefusedError) Error() string { return e.text }

// Refused reports whether an error is, or wraps, a RefusedError with one of these statuses.
func Refused(err error, statuses ...int) bool {
	var r *RefusedError
	return errors.As(err, &r) && slices.Contains(statuses, r.Status)
}

// Ask sends a request once, and reads the whole answer, decompressed. header and body may be nil. The fields of header
// replace fields of a.Header. A body is sent as JSON, unless header or a.Header has another Content-Type.
//
// A status of 2xx, except 206, is a success. If the connection breaks, or the status does not tell whether the request
// was executed (408, 429, and 5xx except 501), the error is an *UnansweredError. For any other status, it is a
// *RefusedError. If the answer exceeds the limits of a state, the error wraps ErrTooLarge.
func (a *API) Ask(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, from := range []http.Header{a.Header, header} {
		for name, values := range from {
			req.Header[name] = values
		}
	}
	if a.Sign != nil {
		if err := a.Sign(req, body); err != nil {
			return nil, err
		}
	}
	req.Header.Set("Accept-Encoding", "gzip") // set here, because net/http would otherwise decompress the body and hide its compressed size
	resp, err := a.Client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = fmt.Errorf("%s %q: %w", method, a.name(to), u.Err)
		}
		return nil, &UnansweredError{Err: err}
	}
	defer resp.Body.Close()
	text, err := contents(resp)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("%s %q: %w", method, a.name(to), err)
	case err != nil:
		return nil, &UnansweredError{Err: fmt.Errorf("%s %q: %w", method, a.name(to), err)}
	}
	answer := Answer{resp.StatusCode, resp.Header, text, compressed(resp), method + " " + a.name(to)}
	if answer.Status/100 == 2 && answer.Status != http.StatusPartialContent { // 206 is not accepted, because no request asks for a part
		return &answer, nil
	}
	message := string(bytes.TrimSpace(text))
	if a.ErrorMessage != nil {
		message = a.ErrorMessage(text)
	}
	err = &RefusedError{answer, strings.TrimSuffix(fmt.Sprintf("%s: %d %s: %s", answer.to, answer.Status, http.StatusText(answer.Status), message), ": ")}
	if answer.open() {
		err = &UnansweredError{Err: err, Unsent: answer.Status == http.StatusTooManyRequests, After: RetryAfter(answer.Header)}
	}
	return nil, err
}

// open reports whether a later attempt may get another answer: the status is 5xx, 408 or 429. The exception is 501: the
// server does not know the method and has not executed the request, and a later request would get the same answer.
func (a *Answer) open() bool {
	return a.Status >= 500 && a.Status != http.StatusNotImplemented || a.Status == http.StatusTooManyRequests || a.Status == http.StatusRequestTimeout
}

// JSON sends a request once as Ask does. The body of the request is the input, encoded as JSON, and the answer is
// decoded into the argument out. If the input is nil, the request has no body. If out is nil, the body of the answer is
// ignored.
func (a *API) JSON(ctx context.Context, method string, to *url.URL, header http.Header, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	answer, err := a.Ask(ctx, method, to, header, body)
	if err != nil {
		return err
	}
	return answer.JSON(out)
}

// JSON decodes the answer into out, and returns an error if the answer is not valid JSON for out. If out is nil, it
// does nothing.
func (a *Answer) JSON(out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		return fmt.Errorf("the answer to %s is not valid: %w", a.to, err)
	}
	return nil
}
