package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// title is that of every diagnostic about a provider that did not start.
const title = "Failed to start provider"

// explain says why the process cannot be used. It goes by what the process did, and by go-plugin's
// words only where that says nothing.
func (p *process) explain(ctx context.Context, err error) error {
	return diag.Errorf(title, "The provider %s, whose program is %s, could not be started: %s.", p, p.path, p.reason(ctx, err))
}

// String is the provider's address with its version, if that is known.
func (p *process) String() string {
	if p.version == "" {
		return p.addr.String()
	}
	return p.addr.String() + " (version " + p.version + ")"
}

func (p *process) reason(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it was cancelled"
	}
	if p.failed != nil {
		return startFailure(p.failed)
	}
	line, whole := p.first.text()
	fields := strings.Split(line, "|")
	switch {
	case !whole && p.stopped():
		if trace := p.trace.String(); trace != "" {
			return fmt.Sprintf("it ended (%s) before it said how it can be reached. It wrote:\n\n%s\n", p.how, trace)
		}
		return fmt.Sprintf("it ended (%s) before it said how it can be reached. It may be made for another system, or lack a library; what it wrote is in the log (TF_LOG=debug)", p.how)
	case !whole:
		return "it did not say in time how it can be reached. What it wrote is in the log (TF_LOG=debug)"
	case len(fields) < 4 || !isNumber(fields[0]) || !isNumber(fields[1]):
		return fmt.Sprintf("the first line it wrote is not a plugin's: %.100q. It may be another kind of program", line)
	case fields[0] != "1":
		return fmt.Sprintf("it speaks version %s of the handshake, and Lethe speaks only version 1", fields[0])
	case fields[1] != "5" && fields[1] != "6":
		return fmt.Sprintf("it speaks version %s of the provider protocol, and Lethe speaks only versions 5 and 6. An older or newer version of the provider may fit", fields[1])
	case len(fields) < 5 || fields[4] != "grpc":
		return "it does not speak gRPC; the provider is too old"
	}
	return err.Error()
}

// stopped reports whether the process ended before go-plugin gave up and killed it.
func (p *process) stopped() bool {
	select {
	case <-p.done:
		return p.alone
	default:
		return false
	}
}

// startFailure says why there is no process at all.
func startFailure(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file, or the program that should run it is not there"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be executed: look at the permissions of the file, and whether its file system is mounted noexec"
	case foreign(err):
		return "it is not a program for this system and processor"
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
