package doctorcmd

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/settings"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/timing/otlp"
	"github.com/lethe-iac/lethe/internal/view/doctorview"
)

// settings adds a finding for each file of the CLI configuration, and a note if LETHE_KEEPER=off turns off the keeper,
// the process that closes ephemeral resources if Lethe is killed. ok is true if all settings are valid; otherwise it
// adds no finding for a file that can be read, because the errors are findings already.
func (x *checking) settings(ok bool) {
	const area = "CLI configuration"
	files := cliconfig.Files(func(name string) string {
		v := x.call.Getenv(name)
		if name == "TF_CLI_CONFIG_FILE" || name == "TERRAFORM_CONFIG" {
			v = paths.In(x.call.Start, v)
		}
		return v
	})
	for _, f := range files {
		switch file, err := os.Open(f); {
		case err != nil:
			x.add(doctorview.Problem, area, fmt.Sprintf("%s cannot be read: %s.", f, disk.Reason(err)), "Correct TF_CLI_CONFIG_FILE or the file.")
		default:
			file.Close()
			if ok {
				x.add(doctorview.OK, area, f+" has no mistakes.", "")
			}
		}
	}
	if len(files) == 0 {
		x.add(doctorview.OK, area, "There is no file, so all settings have their defaults.", "")
	}
	if x.call.Getenv(keeper.Variable) == "off" {
		x.add(doctorview.Note, "keeper", keeper.Variable+"=off: if Lethe is killed, open leases stay open until they expire.", "Unset the variable if that was not intended.")
	}
}

// environment adds the names of the set environment variables that have an effect on Lethe, and of set variables that
// look like variables of Lethe and have no effect. It omits their values, because they may be secret. The methods
// variables and traces add the variables that set root variables, and the variables of OpenTelemetry.
func (x *checking) environment() {
	const area = "environment"
	used, unknown := settings.Honoured(x.call)
	used = slices.DeleteFunc(used, func(name string) bool {
		return strings.HasPrefix(name, variablePrefix) || strings.HasPrefix(name, "OTEL_") || name == traceparent
	})
	if len(used) > 0 {
		x.add(doctorview.OK, area, "These variables have an effect: "+strings.Join(used, ", ")+".", "")
	}
	for _, name := range unknown {
		x.add(doctorview.Note, area, name+" has no effect: Lethe reads no such variable.", "Check its spelling, or unset it.")
	}
}

// variablePrefix begins the names of the environment variables that set root variables.
const variablePrefix = "TF_VAR_"

// variables adds a finding about the environment variables that set root variables, and a note for each variable that
// sets a root variable which the configuration does not declare.
func (x *checking) variables(l *loader.Loader) {
	const area = "environment"
	var used []string
	for _, e := range x.call.Environ {
		name, value, _ := strings.Cut(e, "=")
		of, is := strings.CutPrefix(name, variablePrefix)
		switch {
		case !is || value == "":
		case l.Tree.Root.Module.Variables[of] == nil:
			x.add(doctorview.Note, area, name+" has no effect here: the configuration declares no variable "+of+".", "Check its spelling.")
		default:
			used = append(used, name)
		}
	}
	if slices.Sort(used); len(used) > 0 {
		x.add(doctorview.OK, area, "These variables set root variables: "+strings.Join(used, ", ")+".", "")
	}
}

// traceparent is the environment variable with the identifier of the OpenTelemetry span that started the command.
const traceparent = "TRACEPARENT"

// traces checks the settings of OpenTelemetry.
func (x *checking) traces() {
	const area, exporter = "traces", "OTEL_TRACES_EXPORTER"
	getenv := x.call.Getenv
	if !otlp.Enabled(getenv) {
		for _, e := range x.call.Environ {
			if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "OTEL_") && value != "" {
				x.add(doctorview.Note, area, name+" has no effect, because only "+exporter+"=otlp switches traces on.", "")
			}
		}
		return
	}
	set, err := otlp.Read(getenv, x.call.Path)
	if err != nil {
		x.add(doctorview.Problem, area, fmt.Sprintf("No spans are sent: %s.", err), "Correct the variable, or unset "+exporter+".")
		return
	}
	x.add(doctorview.OK, area, "Each command sends its spans to "+set.Collector()+".", "")
	if text := getenv(traceparent); text != "" {
		if t, _ := otlp.NewTrace(text); t.Parent == "" {
			x.add(doctorview.Note, area, traceparent+" is malformed, so it is ignored.", "Correct the program that sets it.")
		}
	}
}

// certificates checks the files with certificates of authorities.
func (x *checking) certificates() {
	const area = "certificates"
	found := false
	for _, name := range []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE"} {
		path := x.call.Getenv(name)
		if path == "" {
			continue
		}
		found = true
		switch data, err := os.ReadFile(x.call.Path(path)); {
		case err != nil:
			x.add(doctorview.Problem, area, fmt.Sprintf("The file %s of %s cannot be read: %s.", path, name, disk.Reason(err)), "Correct the variable, or unset it.")
		case !x509.NewCertPool().AppendCertsFromPEM(data):
			x.add(doctorview.Problem, area, fmt.Sprintf("The file %s of %s contains no certificate in PEM form.", path, name), "Correct the variable, or unset it.")
		default:
			x.add(doctorview.OK, area, fmt.Sprintf("The file %s of %s contains certificates.", path, name), "")
		}
	}
	for _, dir := range filepath.SplitList(x.call.Getenv("SSL_CERT_DIR")) {
		found = true
		if _, err := os.ReadDir(x.call.Path(dir)); err != nil {
			x.add(doctorview.Problem, area, fmt.Sprintf("The directory %s of SSL_CERT_DIR cannot be read: %s.", dir, disk.Reason(err)), "Correct the variable, or unset it.")
			continue
		}
		x.add(doctorview.OK, area, fmt.Sprintf("The directory %s of SSL_CERT_DIR can be read.", dir), "")
	}
	if !found {
		x.add(doctorview.OK, area, "The authorities of the system are trusted.", "")
	}
}

// caches adds the size of each cache, and whether files can be created in it.
func (x *checking) caches() {
	d := x.dir
	for _, c := range []struct{ name, dir string }{
		{"plugin cache", d.PluginCache()},
		{"download cache", d.Cache("packages")},
		{"schema cache", filepath.Join(d.Data, "lethe-schemas")},
		{"data directory", d.Data},
	} {
		if c.dir != "" {
			x.cache(c.name, c.dir)
		}
	}
}

func (x *checking) cache(area, dir string) {
	info, err := os.Stat(dir)
	files, size := 0, int64(0)
	if err == nil && info.IsDir() {
		files, size = measure(dir)
	}
	if shown := x.dir.Display(dir); filepath.IsLocal(shown) {
		dir = shown
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && area == "plugin cache":
		x.add(doctorview.Problem, area, dir+" does not exist, so nothing is cached there.", "Create the directory.")
	case errors.Is(err, fs.ErrNotExist):
		x.add(doctorview.OK, area, dir+" does not exist yet.", "")
	case err != nil:
		x.add(doctorview.Problem, area, fmt.Sprintf("%s cannot be read: %s.", dir, disk.Reason(err)), "Correct its permissions.")
	case !info.IsDir():
		x.add(doctorview.Problem, area, dir+" is no directory.", "Remove the file.")
	case !writable(x.call.Path(dir)):
		x.add(doctorview.Problem, area, dir+" cannot be written.", "Correct its permissions.")
	default:
		x.add(doctorview.OK, area, fmt.Sprintf("%s has %s, %s.", dir, diag.Counted(files, "file", "files"), megabytes(size)), "")
	}
}

// measure returns the number of regular files below a directory, and their total size in bytes.
func measure(dir string) (files int, size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				files, size = files+1, size+info.Size()
			}
		}
		return nil // a directory that cannot be read counts as empty
	})
	return files, size
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
