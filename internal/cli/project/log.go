package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// logger writes what TF_LOG asks for: to standard error, or to the file that TF_LOG_PATH names.
type logger struct {
	out      io.Writer
	core     int // rank of the least important level that is written; 0: nothing
	provider int
	json     bool
	now      func() time.Time
	secrets  *secret.Set
	heard    func(string)
}

// levels by rank, the most important first.
var levels = []string{"ERROR", "WARN", "INFO", "DEBUG", "TRACE"}

func levelRank(name string) int {
	name = strings.ToUpper(name)
	if name == "JSON" {
		name = "TRACE"
	}
	if i := slices.Index(levels, name); i >= 0 {
		return i + 1
	}
	if name == "" || name == "OFF" {
		return 0
	}
	return len(levels)
}

// newLogger reads the environment. A nil logger writes nothing. As in Terraform, TF_LOG has precedence over TF_LOG_CORE, and
// TF_LOG_PROVIDER over TF_LOG.
func newLogger(c *base.Call) *logger {
	pick := func(first, second string) int { return levelRank(cmp.Or(c.Getenv(first), c.Getenv(second))) }
	l := &logger{out: c.Stderr, core: pick("TF_LOG", "TF_LOG_CORE"), provider: pick("TF_LOG_PROVIDER", "TF_LOG"), secrets: c.Secrets}
	if l.core == 0 && l.provider == 0 {
		return nil
	}
	for _, name := range []string{"TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER"} {
		if v := c.Getenv(name); v != "" && levelRank(v) == len(levels) && !strings.EqualFold(v, "TRACE") && !strings.EqualFold(v, "JSON") {
			c.Bag.Add(diag.Warningf("Unknown log level", "The environment variable %s is %q. It takes trace, debug, info, warn, error, json or off; everything is logged.", name, v))
		}
	}
	l.now, l.heard = c.Now, func(text string) {
		if c.Heard != nil {
			c.Heard(text)
		}
	}
	for _, name := range []string{"TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER"} {
		l.json = l.json || strings.EqualFold(c.Getenv(name), "JSON")
	}
	if path := c.Getenv("TF_LOG_PATH"); path != "" {
		f, err := os.OpenFile(paths.In(c.Start, path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			c.Bag.Add(diag.Warningf("Failed to open the log file", "The file %s, which TF_LOG_PATH names, cannot be opened: %s. The log goes to standard error.", path, disk.Reason(err)))
		} else {
			l.out = f
		}
	}
	return l
}

// hears reports whether lines of our own of that level are written.
func (l *logger) hears(level string) bool { return l != nil && levelRank(level) <= l.core }

// hearsProviders reports whether anything that a provider writes may be of interest.
func (l *logger) hearsProviders() bool { return l != nil && l.provider > 0 }

// fromProvider writes a line that a provider process wrote.
func (l *logger) fromProvider(p addr.Provider, level, line string) {
	if l == nil || levelRank(level) > l.provider {
		return
	}
	prefix := "provider." + p.Type + ": "
	l.write(level, prefix+line, prefix+"(not shown: the provider crashed while it was opening an ephemeral resource, and what is secret of that is not known)")
}

// line writes a line of our own.
func (l *logger) line(level, format string, a ...any) {
	if l.hears(level) {
		text := fmt.Sprintf(format, a...)
		l.write(level, text, text)
	}
}

// write writes a line, once it is known what must not be in it; if that stays unknown, another one.
func (l *logger) write(level, text, other string) {
	now := l.now()
	l.secrets.Then(func(known bool) {
		if !known {
			text = other
		}
		text := shorter(l.secrets.Scrub(text), len(text) > launch.Longest)
		l.heard(text)
		if l.json {
			io.WriteString(l.out, jsonLine(now, level, text))
			return
		}
		fmt.Fprintf(l.out, "%s %-7s %s\n", now.Format("2006-01-02T15:04:05.000Z0700"), "["+strings.ToUpper(level)+"]", text)
	})
}

// margin is what is left out at the end of a line that was cut: a secret may begin there whose rest is not
// there, in more letters than it has itself.
const margin = 1 << 10

// shorter is a line that was too long without the end of what there is of it.
func shorter(text string, cut bool) string {
	if !cut {
		return text
	}
	const mask = " value)" // the end of any: nothing before that is left of a secret
	return text[:max(0, len(text)-margin, min(len(text), strings.LastIndex(text, mask)+len(mask)))] + "..."
}

// jsonLine is a line of the log for programs.
func jsonLine(now time.Time, level, text string) string {
	line, err := json.Marshal(struct {
		Level     string `json:"@level"`
		Message   string `json:"@message"`
		Timestamp string `json:"@timestamp"`
	}{strings.ToLower(level), text, now.UTC().Format("2006-01-02T15:04:05.000000Z07:00")})
	if err != nil {
		panic(err) // three strings
	}
	return string(line) + "\n"
}
