package review

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// shop is a directory with the AWS modules of testdata/aws, and a server that imitates AWS.
type shop struct {
	t        *testing.T
	bin, dir string
	env      []string
}

// newShop copies the modules and installs the provider from LETHE_PROVIDER_MIRROR. It skips the test if that variable
// is not set or moto_server is not installed.
func newShop(t *testing.T) *shop {
	t.Helper()
	mirror := os.Getenv("LETHE_PROVIDER_MIRROR")
	moto, err := exec.LookPath("moto_server")
	if mirror == "" || err != nil {
		t.Skip("needs LETHE_PROVIDER_MIRROR with hashicorp/aws, and moto_server")
	}
	home := t.TempDir()
	s := &shop{t: t, bin: program(t), dir: filepath.Join(home, "shop")}
	must(t, os.CopyFS(s.dir, os.DirFS("testdata/aws")))
	rc := filepath.Join(home, "rc")
	must(t, os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), 0o600))
	s.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "TF_VAR_password="+canary, "TF_VAR_endpoint=http://"+imitate(t, moto))
	s.run("init")
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// imitate starts a server that imitates AWS until the end of the test, and returns its address in the form HOST:PORT.
// moto is the path of the server's program.
func imitate(t *testing.T, moto string) string {
	t.Helper()
	cmd := exec.Command(moto, "-p", "0")
	out, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var text strings.Builder
	for buf := make([]byte, 4096); ; {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if _, rest, ok := strings.Cut(text.String(), "Running on http://"); ok {
			if address, _, ok := strings.Cut(rest, "\n"); ok {
				go func() { _, _ = io.Copy(io.Discard, out) }()
				address = strings.TrimSpace(address)
				if _, _, err := net.SplitHostPort(address); err != nil {
					t.Fatal(err)
				}
				return address
			}
		}
		if err != nil {
			t.Fatalf("the server does not start: %v: %s", err, text.String())
		}
	}
}

func (s *shop) run(args ...string) {
	s.t.Helper()
	cmd := exec.Command(s.bin, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// edit replaces a text in a file of the modules. The file must contain it once.
func (s *shop) edit(file, old, new string) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	text, err := os.ReadFile(path)
	must(s.t, err)
	if strings.Count(string(text), old) != 1 {
		s.t.Fatalf("%s has not one %q", file, old)
	}
	must(s.t, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
}

// page opens a page that a command wrote in a tab.
func (s *shop) page(name string) *tab {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.t, err)
	return open(s.t, string(text))
}

// picture draws a page in a colour scheme, light or dark, with a size in pixels. With -update, it writes the picture to
// the guide under the name.
func (s *shop) picture(p *tab, name, scheme string, width, height int64) {
	s.t.Helper()
	var picture []byte
	p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, height), chromedp.CaptureScreenshot(&picture))
	if len(picture) < 5_000 || len(picture) > 300_000 {
		s.t.Errorf("the picture %s has %d bytes", name, len(picture))
	}
	if *update {
		must(s.t, os.WriteFile(filepath.Join("../../docs/guide", name), picture, 0o644))
	}
}

// TestPictures creates the objects of AWS modules, plans a change of all of them, and opens the pages of the run and of
// the plan. With -update, it writes the pictures of the guide.
func TestPictures(t *testing.T) {
	s := newShop(t)
	s.run("apply", "-auto-approve", "-timings=apply.html")
	p := s.page("apply.html")
	p.is(true, `document.body.innerText.includes('module.web["shop"].aws_instance.this[1]')`)
	p.is(true, `document.querySelectorAll("#chart ~ .scroll rect.critical").length > 3`)
	s.picture(p, "timings.png", "light", 860, 1000)

	s.edit("database/main.tf", "\nresource \"aws_s3_bucket\" \"backup\" {\n  bucket = \"${var.name}-backup\"\n}\n", "")
	s.edit("network/main.tf", `Name = "${var.name}-${each.key}"`, "Name = \"${var.name}-${each.key}\"\n    Tier = \"private\"")
	s.edit("service/main.tf", `"logs:PutLogEvents"`, `"logs:PutLogEvents", "logs:DescribeLogStreams"`)
	s.run("plan", "-out=change.plan", "-html=plan.html", "-var=image=ami-0a1b2c3d4e5f60002", "-var=engine=16")
	p = s.page("plan.html")
	p.is("0 to add, 4 to change, 5 to replace, 1 to destroy", `document.querySelector("h1").textContent`)
	p.is("module.orders.aws_s3_bucket.backup", `document.querySelector("main .change").id`)
	p.is(true, `document.body.innerText.includes("ami ← module.web.var.image ← var.image")`)
	p.is(true, `document.getElementById('module.network.aws_subnet.private["eu-central-1a"]').closest(".change").textContent.includes("2 equal changes")`)
	s.picture(p, "review-page-light.png", "light", 760, 900)
	s.picture(p, "review-page-dark.png", "dark", 760, 900)

	s.run("show", "-html=shown.html", "change.plan")
	must(t, filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), canary) {
			t.Errorf("%s contains the password", path)
		}
		return err
	}))
}
