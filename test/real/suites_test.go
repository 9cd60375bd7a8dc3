package real

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// TestSuites runs published acceptance tests of providers unchanged, in an environment that sets only the path of the
// program. Without a registry, the versions that the tests upgrade from are the provider itself under those numbers.
// Such a test still checks that a provider of a given version is found, installed, locked, used and then replaced by a
// running provider.
func TestSuites(t *testing.T) {
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) { s.run(t, must(lethe())(t)) })
	}
}

// run builds and runs the tests of the suite with a program, and judges the results. It runs only the sample unless
// LETHE_LONG is set. It skips the test if the source of the provider is not available.
func (s *suite) run(t *testing.T, program string) {
	src, err := s.from()
	if errors.Is(err, source.ErrAbsent) {
		t.Skip(err)
	}
	check(t, err)
	tests := filepath.Join(t.TempDir(), s.name+".test")
	check(t, source.Go(src, "test", "-c", "-o", tests, s.tests))
	home := t.TempDir()
	s.offer(t, home, s.before...)
	for _, name := range s.needs {
		other := suiteOf(name)
		other.offer(t, home, append([]string{other.version}, other.before...)...)
	}
	args := []string{"-test.v", "-test.timeout=60m"}
	least := s.least[1]
	if s.only != "" {
		args = append(args, "-test.run", s.only)
	}
	if !long {
		least = s.least[0]
	}
	if !long && s.sample != "" {
		args = append(args, "-test.run", s.sample)
	}
	cmd := exec.Command(tests, args...)
	cmd.Dir = filepath.Join(src, s.tests)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=" + program}
	if s.server {
		cmd.Env = append(cmd.Env, startServer(t)...)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	s.judge(t, out, least)
	s.judgeSkips(t, out)
}

var skipped = regexp.MustCompile(`(?m)^--- SKIP: (\S+)`)

// judgeSkips compares the skipped tests with the list of expected skips, if there is a list.
func (s *suite) judgeSkips(t *testing.T, out []byte) {
	for _, m := range skipped.FindAllSubmatch(out, -1) {
		if _, known := match(s.skips, string(m[1])); s.skips != nil && !known {
			t.Errorf("%s was skipped:\n%s", m[1], said(out, string(m[1])))
		}
	}
}

var verdict = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\S+)`)

// judge compares the failed tests with the list of expected failures. At least as many tests as least must pass.
func (s *suite) judge(t *testing.T, out []byte, least int) {
	ran, passed := map[string]bool{}, 0
	for _, m := range verdict.FindAllSubmatch(out, -1) {
		name := string(m[2])
		pattern, known := match(s.leftOut, name)
		wants, unsure := match(s.depends, name)
		ran[pattern] = true
		switch ok := string(m[1]) == "PASS"; {
		case ok && known:
			t.Errorf("%s passes: take it off the list (%s)", name, s.leftOut[pattern])
		case ok:
			passed++
		case unsure:
			t.Logf("%s failed: it depends on %s", name, s.depends[wants])
		case !known:
			t.Errorf("%s failed:\n%s", name, said(out, name))
		}
	}
	for pattern, why := range s.leftOut {
		if long && !ran[pattern] {
			t.Errorf("there is no %s (any more): take it off the list (%s)", pattern, why)
		}
	}
	if passed < least {
		t.Errorf("%d passed, and not %d:\n%s", passed, least, out[max(0, len(out)-4000):])
	}
	t.Logf("%d passed", passed)
}

// match returns a pattern in a list that matches a test's name, and whether there is one.
func match(list map[string]string, name string) (string, bool) {
	for pattern := range list {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return pattern, true
		}
	}
	return "", false
}

// said returns the output of one test. Output of tests that ran at the same time is mixed in.
func said(out []byte, name string) string {
	var kept []string
	mine := false
	for line := range strings.Lines(string(out)) {
		if head, ok := strings.CutPrefix(line, "=== "); ok {
			f := strings.Fields(head)
			mine = len(f) == 2 && (f[1] == name || strings.HasPrefix(f[1], name+"/"))
		}
		if mine && !bytes.HasPrefix([]byte(line), []byte("=== ")) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
