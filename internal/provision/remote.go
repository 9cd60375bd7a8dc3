package provision

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
)

// script is the text and the size of a script to run.
type script struct {
	content io.Reader
	size    int64
	close   func() error
}

// remote runs scripts on the target, one after another: the provisioner "remote-exec".
func (r *run) remote(ctx context.Context) error {
	// Errors of reading must occur before any script runs.
	scripts, err := r.scripts()
	defer func() {
		for _, s := range scripts {
			s.close()
		}
	}()
	if err != nil {
		return err
	}
	s, err := r.settings(ctx)
	if err != nil {
		return err
	}
	r.announce(s)
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	r.Output("Connected!")
	for _, sc := range scripts {
		if err := r.runScript(ctx, c, sc); err != nil {
			return err
		}
	}
	return nil
}

// settings reads the connection block.
func (r *run) settings(ctx context.Context) (*settings, error) {
	s, err := readSettings(ctx, r.Connection.Raw, r.Env)
	if err != nil {
		return nil, &fault{full: err.Error(), safe: err.Error(), remote: true} // the text of this error contains only names of arguments
	}
	return s, nil
}

// scripts opens the scripts of the configuration. After an error, it returns the scripts opened so far, which the
// caller must close.
func (r *run) scripts() ([]script, error) {
	config := r.Config.Raw
	if lines, _ := schema.Texts(config, "inline"); lines != nil {
		return []script{r.inline(strings.Join(lines, "\n") + "\n")}, nil
	}
	paths, _ := schema.Texts(config, "scripts")
	if p := schema.Text(config, "script"); p != "" {
		paths = []string{p}
	}
	var all []script
	for _, p := range paths {
		s, err := r.open(p)
		if err != nil {
			return all, &fault{full: "Failed to open script '" + p + "'", safe: "Failed to open script", cause: err}
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *run) inline(content string) script {
	content = r.shebang(content) + content
	return script{strings.NewReader(content), int64(len(content)), func() error { return nil }}
}

// shebang returns the first line for a script that has no interpreter line. It returns "" if the script has one or the
// target runs Windows.
func (r *run) shebang(begin string) string {
	if strings.HasPrefix(begin, "#!") || schema.Text(r.Connection.Raw, "target_platform") == "windows" {
		return ""
	}
	return "#!/bin/sh\n"
}

func (r *run) open(p string) (script, error) {
	f, size, err := openRegular(r.path(p))
	if err != nil {
		return script{}, err
	}
	in := bufio.NewReader(f)
	begin, _ := in.Peek(2)
	first := r.shebang(string(begin))
	return script{io.MultiReader(strings.NewReader(first), in), size + int64(len(first)), f.Close}, nil
}

const (
	errIrregular = sshconn.Fixed("it is neither a file nor a directory")
	errCircle    = sshconn.Fixed("it is a link to a parent directory")
)

// openRegular opens a regular file and returns its size.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &os.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// runScript uploads a script, runs it, and always removes it.
func (r *run) runScript(ctx context.Context, c *client, sc script) (err error) {
	p := c.settings.platform
	path := p.script(c.settings.script)
	line, err := p.program(path)
	if err != nil {
		return &fault{full: "Failed to upload script", safe: "Failed to upload script", cause: err, remote: r.redaction.script}
	}
	defer r.removeScript(context.WithoutCancel(ctx), c, path)
	fresh := !strings.Contains(c.settings.script, random) && c.settings.script != ""
	err = c.upload(ctx, upload{path: path, fresh: fresh, send: func(s *sender) error {
		return s.file("terraform.sh", 0o700, sc.size, sc.content)
	}})
	if err != nil {
		return &fault{full: "Failed to upload script", safe: "Failed to upload script", cause: err, remote: r.redaction.script}
	}
	out := &lines{emit: r.Output, scrub: r.Scrub}
	err = c.execute(ctx, command{line: line, terminal: p == unix, out: out})
	out.end()
	if err != nil {
		return &fault{full: fmt.Sprintf("error executing %q", path), safe: "error executing the script", cause: err, remote: r.redaction.script}
	}
	return nil
}

// removal is the time limit for removing a script.
var removal = 15 * time.Second

// removeScript removes a script from the target. If the connection was lost, it opens a new connection. It reports a
// failure as a warning, because the script may contain secrets.
func (r *run) removeScript(ctx context.Context, c *client, path string) {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	line, err := c.settings.platform.remove(path)
	if err == nil {
		err = c.execute(ctx, command{line: line})
	}
	if err != nil && ctx.Err() == nil && c.broken() {
		var again *client
		if again, err = c.settings.dial(ctx); err == nil {
			err = again.execute(ctx, command{line: line})
			again.Close()
		}
	}
	if err == nil {
		return
	}
	what := "The script " + path + " on " + c.settings.target.Name
	if r.redaction.names {
		what = "A script on the remote system"
	}
	r.diagnostics = append(r.diagnostics, diag.Warningf("Remote script not removed",
		"%s could not be removed (%s). It may contain secrets: if the system still exists, remove it by hand.", what, r.redaction.text(err)))
}

// announce prints the target and the settings of the connection, with the texts of Terraform and OpenTofu.
func (r *run) announce(s *settings) {
	name := func(n string) string {
		if r.redaction.names {
			return mark.Sensitive.Mask()
		}
		return n
	}
	printf := func(format string, a ...any) { r.Output(fmt.Sprintf(format, a...)) }
	host := func(h *sshconn.Host) {
		printf("  Host: %s", name(h.Name))
		printf("  User: %s", name(h.User))
		printf("  Password: %t", h.Password != "")
		printf("  Private key: %t", h.Key != nil)
		printf("  Certificate: %t", h.Cert != nil)
		printf("  SSH Agent: %t", h.Agent != nil)
		printf("  Checking Host Key: %t", h.HostKeys != nil)
	}
	printf("Connecting to remote host via SSH...")
	host(&s.target)
	if s.platform == windows {
		printf("  Target Platform: windows")
	} else {
		printf("  Target Platform: unix")
	}
	if s.bastion != nil {
		printf("Using configured bastion host...")
		host(s.bastion)
	}
	if p := s.proxy; p != nil {
		printf("Using configured proxy host...")
		printf("  ProxyHost: %s", name(p.host))
		printf("  ProxyPort: %d", p.port)
		printf("  ProxyUserName: %s", name(p.user))
		printf("  ProxyUserPassword: %t", p.password != "")
	}
}
