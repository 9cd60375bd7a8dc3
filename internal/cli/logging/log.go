// Package logging writes the log of TF_LOG.
//
//	log.go      the log: levels, the file, lines of the program and of providers
//	narrate.go  log lines about a run: steps, calls, states
//
// A nil Log writes nothing, so that callers need no nil check. The secrets of the command are masked in each line.
package logging

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
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/secret"
)

// Log writes to standard error, or to the file named by TF_LOG_PATH. Its methods may be called from several goroutines.
type Log struct {
	out      io.Writer
	core     int  // rank of the least important level of Lethe's lines; 0: no lines
	provider int  // rank of the least important level of lines of providers; 0: no lines
	json     bool // each line is a JSON object
	now      func() time.Time
	secrets  *secret.Set
	heard    func(string) // receives each line, too, without time and level
}

// levels are the names of the levels; the most important has rank 1.
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

// New creates the log according to the environment. It returns nil if the environment requests no log. As in Terraform,
// TF_LOG has precedence over TF_LOG_CORE, and TF_LOG_PROVIDER over TF_LOG. An unknown level means TRACE. New adds a
// warning about an unknown level, and if the file of TF_LOG_PATH cannot be opened.
func New(c *base.Call) *Log {
	pick := func(first, second string) int { return levelRank(cmp.Or(c.Getenv(first), c.Getenv(second))) }
	l := &Log{out: c.Stderr, core: pick("TF_LOG", "TF_LOG_CORE"), provider: pick("TF_LOG_PROVIDER", "TF_LOG"), secrets: c.Secrets}
	if l.core == 0 && l.provider == 0 {
		return nil
	}
	for _, name := range []string{"TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER"} {
		if v := c.Getenv(name); v != "" && levelRank(v) == len(levels) && !strings.EqualFold(v, "TRACE") && !strings.EqualFold(v, "JSON") {
			c.Bag.Add(diag.Warningf("Unknown log level", "The environment variable %s is %q. Set it to trace, debug, info, warn, error, json or off. Lethe now logs at the level trace.", name, v))
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
		f, err := disk.OpenPrivate(paths.In(c.Start, path), os.O_APPEND)
		if err != nil {
			c.Bag.Add(diag.Warningf("Failed to open the log file", "The file %s in TF_LOG_PATH cannot be opened: %s. The log goes to standard error.", path, disk.Reason(err)))
		} else {
			l.out = f
		}
	}
	return l
}

// Has reports whether the log writes lines of Lethe (not of providers) with the given level.
func (l *Log) Has(level string) bool { return l != nil && levelRank(level) <= l.core }

// HasProviders reports whether lines of providers are written.
func (l *Log) HasProviders() bool { return l != nil && l.provider > 0 }

// FromProvider writes a line of a process of provider p, if lines of providers with this level are written.
func (l *Log) FromProvider(p addr.Provider, level, line string) {
	if l == nil || levelRank(level) > l.provider {
		return
	}
	prefix := "provider." + p.Type + ": "
	l.write(level, prefix+line, prefix+"(not shown: the provider crashed while it opened an ephemeral resource, so Lethe does not know its secret values)")
}

// line writes a line of Lethe, if its level is written. format and a are arguments of fmt.Sprintf.
func (l *Log) line(level, format string, a ...any) {
	if l.Has(level) {
		text := fmt.Sprintf(format, a...)
		l.write(level, text, text)
	}
}

// write writes a line as soon as the secrets that the line may contain are known, so that it can mask them. If these
// secrets remain unknown, it writes the other line in place of the first.
func (l *Log) write(level, text, other string) {
	now := l.now()
	l.secrets.Then(func(known bool) {
		if !known {
			text = other
		}
		text := shorter(l.secrets.ScrubMessage(text), len(text) > launch.Longest)
		l.heard(text)
		if l.json {
			io.WriteString(l.out, jsonLine(now, level, text))
			return
		}
		fmt.Fprintf(l.out, "%s %-7s %s\n", now.Format("2006-01-02T15:04:05.000Z0700"), "["+strings.ToUpper(level)+"]", text)
	})
}

// margin is the maximum number of bytes that shorter removes from the end of a line that was cut. The cut may be in the
// middle of a secret, and masking does not find a part of a secret. margin is large, because an encoded secret can be
// much longer than the secret.
const margin = 1 << 10

// shorter removes the end of a line and appends "..." if the line was cut, because the end may be a part of a secret.
// It keeps everything up to the last mask (the text in place of a secret), and at least all bytes except the last
// margin bytes.
func shorter(text string, cut bool) string {
	if !cut {
		return text
	}
	const mask = " value)" // every mask ends with this text, and no part of a secret is before the last mask
	return text[:max(0, len(text)-margin, min(len(text), strings.LastIndex(text, mask)+len(mask)))] + "..."
}

func jsonLine(now time.Time, level, text string) string {
	line, err := json.Marshal(struct {
		Level     string `json:"@level"`
		Message   string `json:"@message"`
		Timestamp string `json:"@timestamp"`
	}{strings.ToLower(level), text, now.UTC().Format("2006-01-02T15:04:05.000000Z07:00")})
	if err != nil {
		panic(err) // three strings can always be encoded
	}
	return string(line) + "\n"
}
