package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Hander is a Journaler that lets a process leave what a run has recorded which has no credentials.
type Hander interface {
	// Hand gives a request for that, for the run that has the lock of a workspace: it writes one object of that run, for a
	// time that is limited, and does nothing else.
	Hand(ctx context.Context, workspace string) (*Handed, error)
}

// Handed is a request that was signed and not made, without its body. Who has it can make it.
type Handed struct {
	Method, URL string
	Header      http.Header
}

// Send makes the request.
func (h *Handed) Send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, h.Method, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = h.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
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
