// Package otlp sends a recorded run to an OpenTelemetry collector.
//
// The settings are the environment variables of OpenTelemetry. The official library would send the same requests, but
// would make the program larger and its start slower. All spans of a run are known when it ends, so this package needs
// only to encode them as JSON documents and send these.
//
//	settings.go  the environment variables
//	trace.go     identifiers and the W3C traceparent
//	document.go  the spans as OTLP's JSON form
//	otlp.go      Send
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/lethe-iac/lethe/internal/timing"
)

// Send sends the spans of a run. It takes at most s.Timeout. It returns an error if the collector does not answer or
// rejects spans, or if the spans cannot be searched for secrets. After an error some spans may have been sent.
func Send(ctx context.Context, s *Settings, t Trace, r *timing.Run, about About) error {
	ctx, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	for _, doc := range documents(s, t, r, about) {
		text, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		scrubbed := text
		if about.Scrub != nil {
			scrubbed = []byte(about.Scrub(string(text)))
		}
		if !json.Valid(scrubbed) {
			return errors.New("the spans cannot be searched for secrets")
		}
		if err := post(ctx, s, scrubbed); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("%s did not answer within %s", s.Collector(), s.Timeout)
			}
			return err
		}
	}
	return nil
}

func post(ctx context.Context, s *Settings, body []byte) error {
	if s.Gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // writing to a buffer never fails
		_ = w.Close()
		body = b.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range s.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := s.client().Do(req)
	if err != nil {
		return reason(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // if the body cannot be read, no rejected spans are reported
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", s.Collector(), answer.Status)
	}
	var rejected struct {
		Partial struct {
			Spans json.RawMessage `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	_ = json.Unmarshal(text, &rejected) // a body that is not JSON reports no rejected spans
	if n := string(bytes.Trim(rejected.Partial.Spans, `"`)); n != "" && n != "0" {
		return fmt.Errorf("%s rejected %s spans", s.Collector(), n)
	}
	return nil
}
