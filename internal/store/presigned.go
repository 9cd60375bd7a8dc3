package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Send sends a presigned request with a body. The error is an *UnansweredError if the server does not answer, or
// answers with a status of 500 or more. Any other status outside 2xx is an error, too.
func (h *PresignedRequest) Send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, h.Method, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = h.Header.Clone()
	resp, err := Client().Do(req)
	if err != nil {
		return &UnansweredError{Err: err}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	switch {
	case resp.StatusCode >= 500:
		return &UnansweredError{Err: fmt.Errorf("the server answered %s", resp.Status)}
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	return nil
}
