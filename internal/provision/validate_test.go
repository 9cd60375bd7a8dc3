package provision

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
)

// brief returns severity, argument and title of each diagnostic.
func brief(ds []diag.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		out = append(out, strings.TrimSpace(d.Severity.String()+" "+mark.PathString(d.Path)+": "+d.Summary))
	}
	return out
}

func TestSchemas(t *testing.T) {
	names := func(typ string) (out []string) {
		for _, a := range Schema(typ).Attrs {
			out = append(out, a.Name)
		}
		return out
	}
	for typ, want := range map[string][]string{
		LocalExec:  {"command", "environment", "interpreter", "quiet", "working_dir"},
		RemoteExec: {"inline", "script", "scripts"},
		File:       {"content", "destination", "source"},
	} {
		if diff := cmp.Diff(want, names(typ)); diff != "" {
			t.Errorf("%s: %s", typ, diff)
		}
	}
	if Schema("chef") != nil {
		t.Error("there is a chef")
	}
	c := ConnectionSchema()
	if !slices.IsSortedFunc(c.Attrs, func(a, b *schema.Attr) int { return strings.Compare(a.Name, b.Name) }) || c.Attr("host") == nil || !c.Attr("host").Optional {
		t.Error("connection")
	}
}

func TestValidate(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	list := cty.UnknownVal(cty.List(cty.String))
	const remote = "error : Invalid remote-exec provisioner configuration"
	for _, c := range []struct {
		typ  string
		args map[string]any
		want []string
	}{
		{LocalExec, map[string]any{"command": "x"}, nil},
		{LocalExec, map[string]any{"command": unknown}, nil},
		{LocalExec, map[string]any{"command": ""}, []string{"error command: Invalid local-exec provisioner command"}},
		{LocalExec, nil, []string{"error command: Invalid local-exec provisioner command"}},
		{LocalExec, map[string]any{"command": "x", "interpreter": []string{}}, nil},
		{LocalExec, map[string]any{"command": "x", "interpreter": []string{"a", ""}}, []string{"error interpreter: Invalid local-exec provisioner configuration"}},
		{RemoteExec, nil, []string{remote}},
		{RemoteExec, map[string]any{"inline": []string{"x"}, "script": "y"}, []string{remote}},
		{RemoteExec, map[string]any{"inline": list, "script": unknown}, nil},
		{RemoteExec, map[string]any{"inline": []string{"x"}}, nil},
		{RemoteExec, map[string]any{"inline": []string{}}, []string{"error inline: Invalid remote-exec provisioner configuration"}},
		{RemoteExec, map[string]any{"inline": []string{"x", ""}}, []string{"error inline: Invalid remote-exec provisioner configuration"}},
		{RemoteExec, map[string]any{"inline": cty.ListVal([]cty.Value{unknown})}, nil},
		{RemoteExec, map[string]any{"scripts": cty.ListVal([]cty.Value{cty.NullVal(cty.String)})}, []string{"error scripts: Invalid remote-exec provisioner configuration"}},
		{RemoteExec, map[string]any{"script": ""}, []string{"error script: Invalid remote-exec provisioner configuration"}},
		{File, map[string]any{"destination": "/x"}, []string{"error : Must provide one of 'source' or 'content'"}},
		{File, map[string]any{"destination": "/x", "source": "a", "content": "b"}, []string{"error : Cannot set both 'source' and 'content'"}},
		{File, map[string]any{"destination": "/x", "source": unknown}, nil},
		{File, map[string]any{"destination": unknown, "content": ""}, nil},
		{File, map[string]any{"destination": "", "source": ""}, []string{"error source: Invalid file provisioner configuration", "error destination: Invalid file provisioner configuration"}},
	} {
		if diff := cmp.Diff(c.want, brief(Validate(c.typ, args(Schema(c.typ), c.args)))); diff != "" {
			t.Errorf("%s %v: %s", c.typ, c.args, diff)
		}
	}
	if ds := Validate(File, cty.UnknownVal(Schema(File).Type())); ds != nil {
		t.Error(show(ds))
	}
}

func TestValidateConnection(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	invalid := func(arg string) []string { return []string{"error " + arg + ": Invalid connection configuration"} }
	for _, c := range []struct {
		args map[string]any
		want []string
	}{
		{nil, nil},
		{map[string]any{"type": "ssh", "port": 22, "timeout": "1m30s", "target_platform": "windows", "proxy_scheme": "socks5"}, nil},
		{map[string]any{"host": unknown, "type": unknown, "port": cty.UnknownVal(cty.Number), "timeout": unknown, "certificate": unknown, "proxy_scheme": unknown}, nil},
		{map[string]any{"type": "", "target_platform": "", "timeout": "", "proxy_scheme": ""}, nil},
		{map[string]any{"type": "winrm", "https": true, "use_ntlm": true, "host": ""}, []string{"error type: Connection type not supported"}},
		{map[string]any{"type": "telnet"}, []string{"error type: Connection type not supported"}},
		{map[string]any{"host": ""}, invalid("host")},
		{map[string]any{"host": cty.NullVal(cty.String)}, invalid("host")},
		{map[string]any{"host": "a\r\nProxy-Authorization: x"}, invalid("host")},
		{map[string]any{"bastion_host": "me@there"}, invalid("bastion_host")},
		{map[string]any{"host": "fe80::1%eth0"}, nil},
		{map[string]any{"port": 70000}, invalid("port")},
		{map[string]any{"bastion_port": cty.NumberFloatVal(1.5)}, invalid("bastion_port")},
		{map[string]any{"target_platform": "mac"}, invalid("target_platform")},
		{map[string]any{"proxy_scheme": "ftp"}, invalid("proxy_scheme")},
		{map[string]any{"certificate": "x"}, invalid("certificate")},
		{map[string]any{"certificate": "x", "private_key": unknown}, nil},
		{map[string]any{"timeout": "300"}, []string{"warning timeout: Invalid connection configuration"}},
	} {
		obj := args(ConnectionSchema(), merge(map[string]any{"host": "h"}, c.args))
		ds := ValidateConnection(obj)
		if diff := cmp.Diff(c.want, brief(ds)); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
	ds := ValidateConnection(args(ConnectionSchema(), map[string]any{"type": "winrm"}))
	if !strings.Contains(show(ds), "OpenSSH") {
		t.Errorf("no way out: %s", show(ds))
	}
}

func TestUnknownAtTheEnd(t *testing.T) {
	ds := Run(t.Context(), Request{Type: LocalExec, Config: mark.Plain(args(Schema(LocalExec), map[string]any{"command": cty.UnknownVal(cty.String)}))})
	if !hasErrors(ds) {
		t.Error("ran")
	}
}

func TestWindowsPaths(t *testing.T) {
	for _, c := range []struct{ path, program, remove string }{
		{"C:/windows/temp/terraform_1.cmd", `C:\windows\temp\terraform_1.cmd`, `del C:\windows\temp\terraform_1.cmd`},
		{`C:\a b\x.cmd`, `"C:\a b\x.cmd"`, `del "C:\a b\x.cmd"`},
		{"x.ps1", "x.ps1", "del x.ps1"},
		{`a"&calc.cmd`, "", ""}, {"a%PATH%", "", ""}, {"a|b", "", ""}, {"$(x)", "", ""}, {"a;b\nc", "", ""}, {"a\x00", "", ""}, {"", "", ""},
	} {
		program, err := windows.program(c.path)
		if program != c.program || (err != nil) != (c.program == "") {
			t.Errorf("program %q: %q %v", c.path, program, err)
		}
		remove, err := windows.remove(c.path)
		if err == nil && remove != c.remove || (err != nil) != (c.remove == "") {
			t.Errorf("remove %q: %q %v", c.path, remove, err)
		}
	}
	if p := windows.script(""); !strings.HasPrefix(p, "C:/windows/temp/terraform_") || !strings.HasSuffix(p, ".cmd") {
		t.Error(p)
	}
	if a, b := unix.script(""), unix.script(""); a == b {
		t.Errorf("twice %s", a)
	}
}

func TestHome(t *testing.T) {
	for path, want := range map[string]string{"~": ".", "~/": ".", "~/a": "a", "~//a": "a", "/~/a": "/~/a", "~user/a": "~user/a", "a": "a"} {
		if got := unix.home(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// FuzzQuote checks that a shell reads a quoted path as one word, and that the word is the path.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"/tmp/x", "a b", "it's", "''", "$(id)", "`id`", "a\nb", "-n", "~", "*", `\`, "\\'", "a;b", "\x7f\x1b[2J", "ü", "#", "!!", "{a,b}", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		word, err := unix.quote(path)
		if err != nil {
			if path != "" && !strings.Contains(path, "\x00") {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if strings.HasPrefix(word, "-") {
			t.Fatalf("%q became an option: %s", path, word)
		}
		out, err := exec.Command("/bin/sh", "-c", "printf '%s.' "+word).Output()
		if err != nil {
			t.Skip(err)
		}
		got := strings.TrimSuffix(string(out), ".")
		if got != path && got != "./"+path {
			t.Fatalf("%q became %q", path, got)
		}
	})
}
