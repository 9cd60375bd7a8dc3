package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// title is the title of every diagnostic about a provider that did not start.
const title = "Failed to start provider"

// explain returns the error about a process that cannot be used. The error explains the behaviour of the process, such
// as its exit code. If the process showed no such behaviour, the error contains err, the error of go-plugin.
func (p *process) explain(ctx context.Context, err error) error {
	return diag.Errorf(title, "The provider %s, whose program is %s, could not be started: %s.", p, p.path, p.reason(ctx, err))
}

// String returns the provider's address, with its version if the version is known.
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
	if p.dir == "" { // go-plugin has not called the process
		return fmt.Sprintf("no directory for its socket can be made in %s, the directory for temporary files (%s). Check TMPDIR", socketDir(os.TempDir()), disk.Reason(err))
	}
	line, whole := p.first.text()
	fields := strings.Split(line, "|")
	switch {
	case p.stopped() && p.trace.String() != "":
		return fmt.Sprintf("it exited (%s) before it answered. Its output:\n\n%s\n", p.how, p.trace.String())
	case !whole && p.stopped():
		return fmt.Sprintf("it exited (%s) before it printed its address. It may be for another system, or a library may be missing; its output is in the log (TF_LOG=debug)", p.how)
	case !whole:
		return "it did not print its address in time. Its output is in the log (TF_LOG=debug)"
	case len(fields) < 4 || !isNumber(fields[0]) || !isNumber(fields[1]):
		return fmt.Sprintf("its first line is not a plugin handshake: %.100q. Check that the program is a provider", line)
	case fields[0] != "1":
		return fmt.Sprintf("it uses version %s of the handshake, and Lethe supports only version 1", fields[0])
	case fields[1] != "5" && fields[1] != "6":
		return fmt.Sprintf("it uses version %s of the provider protocol, and Lethe supports only versions 5 and 6. Use an older or newer version of the provider", fields[1])
	case len(fields) < 5 || fields[4] != "grpc":
		return "it does not support gRPC. Use a newer version of the provider"
	case p.stopped():
		return fmt.Sprintf("it exited (%s) after it printed its address. Its output is in the log (TF_LOG=debug)", p.how)
	}
	return err.Error()
}

// stopped reports whether the process ended without being killed.
func (p *process) stopped() bool {
	select {
	case <-p.done:
		return p.alone
	default:
		return false
	}
}

// startFailure returns a text with the reason why the process could not be created.
func startFailure(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the file or its interpreter does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "it is not executable. Check the permissions of the file, and whether its file system is mounted noexec"
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
