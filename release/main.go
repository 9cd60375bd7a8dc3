package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// platforms lists the platforms of a release.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64,freebsd/amd64,freebsd/arm64"

// release holds the settings of a release.
type release struct {
	source  string // the directory of the module
	out     string // the directory for the files
	version string // the version of Lethe
	time    time.Time
	targets []target
	key     string  // the published public key, in ASCII armor, or ""
	signer  *signer // nil: the release is not signed

	building string // the directory for programs before they are packed
}

// target is a platform.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// program returns the name of the program on a platform.
func (t target) program() string {
	if t.os == "windows" {
		return "lethe.exe"
	}
	return "lethe"
}

func main() {
	version := flag.String("version", "0.1.0-dev", "The product's own version.")
	out := flag.String("out", "dist", "The directory that gets the files.")
	source := flag.String("source", "..", "The directory of the module.")
	list := flag.String("platforms", platforms, "Platforms, with commas between.")
	flag.Parse()
	if err := run(os.Stdout, *source, *out, *version, *list); err != nil {
		fmt.Fprintf(os.Stderr, "release: %s\n", err)
		os.Exit(1)
	}
}

// run makes a release, and reports to stdout which key signed it. It reads the key first, because a wrong key should
// not be reported after minutes of compiling, and because no child process may receive it.
func run(stdout io.Writer, source, out, version, list string) error {
	r := &release{source: source, out: out, version: version}
	text, published, err := readPublished(source)
	if err != nil {
		return err
	}
	r.key = text
	if r.signer, err = newSigner(published); err != nil {
		return err
	}
	for _, p := range strings.Split(list, ",") {
		system, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform such as linux/amd64", p)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if r.time, err = commitTime(source); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := r.make(); err != nil {
		return err
	}
	if r.signer == nil {
		fmt.Fprintf(stdout, "The release is not signed, because %s is not set.\n", keyVariable)
		return nil
	}
	fmt.Fprintf(stdout, "The key %s signed the release: %s.\n", fingerprint(r.signer.entity), signatureName)
	if published == nil {
		fmt.Fprintf(stdout, "Users cannot check the signature yet, because %s does not exist: publish the public key there, and its fingerprint in SECURITY.md.\n", publishedKey)
	}
	return nil
}

// commitTime returns the time for files: SOURCE_DATE_EPOCH, or the time of the commit.
func commitTime(source string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		cmd := exec.Command("git", "log", "-1", "--format=%ct")
		cmd.Dir = source
		out, err := cmd.Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit is not known (set SOURCE_DATE_EPOCH): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// make makes the whole release.
func (r *release) make() error {
	common, err := r.common()
	if err != nil {
		return err
	}
	if r.building, err = os.MkdirTemp("", "lethe-release-*"); err != nil {
		return err
	}
	defer os.RemoveAll(r.building)
	var made []string
	for _, t := range r.targets {
		program, err := r.build(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		files, err := r.wrap(t, program, common)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, files...)
	}
	for name, mode := range map[string]os.FileMode{"install.sh": 0o755, "Containerfile": 0o644} {
		data, err := os.ReadFile(filepath.Join(r.source, "release", name))
		if err == nil {
			data = []byte(r.fill(string(data)))
			err = os.WriteFile(filepath.Join(r.out, name), data, mode)
		}
		if err != nil {
			return err
		}
		made = append(made, name)
	}
	return r.sums(made)
}

// fill replaces the placeholders in a file of the release: the version, and the line for the published key.
func (r *release) fill(text string) string {
	return strings.NewReplacer("@VERSION@", r.version, "@KEY@\n", r.key).Replace(text)
}

// build compiles the program of a platform. It is static, and its bytes do not depend on the machine. It has no traces
// of gRPC, which Lethe does not show. So it contains no templates, for which the linker would keep every method of
// every type.
func (r *release) build(t target) ([]byte, error) {
	path := filepath.Join(r.building, t.String(), t.program())
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace", "-o", path,
		"-ldflags=-s -w -buildid= -X github.com/lethe-iac/lethe/internal/cli/base.Release="+r.version, "./cmd/lethe")
	cmd.Dir = r.source
	env, err := environment(r.source)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return os.ReadFile(path)
}

// environment returns the environment of the compiler. The compiler is the toolchain of go.mod, because another one may
// lack security fixes and makes other bytes. Variables that change the bytes of programs are replaced or removed.
// environment returns an error if go.mod names no toolchain.
func environment(source string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	if file.Toolchain == nil {
		return nil, errors.New("go.mod names no toolchain")
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "GOFLAGS" || name == "GOEXPERIMENT" || name == "GOFIPS140"
	})
	return append(env, "GOTOOLCHAIN="+file.Toolchain.Name, "GOFLAGS=-mod=readonly"), nil
}

// wrap puts a program into an archive, and for Linux into packages, and writes its bill of materials. It returns the
// names of the files that it wrote.
func (r *release) wrap(t target, program []byte, common []file) ([]string, error) {
	name := fmt.Sprintf("lethe_%s_%s", r.version, t)
	files := append([]file{{t.program(), program, 0o755}}, common...)
	bill, err := bill(program, name, r.version, r.time)
	if err != nil {
		return nil, err
	}
	type output struct {
		name string
		data []byte
		err  error
	}
	outputs := []output{{name: name + ".cdx.json", data: bill}}
	add := func(name string, data []byte, err error) { outputs = append(outputs, output{name, data, err}) }
	if t.os == "windows" {
		data, err := zipped(files, r.time)
		add(name+".zip", data, err)
	} else {
		data, err := tarred(files, r.time)
		add(name+".tar.gz", data, err)
	}
	if t.os == "linux" {
		for _, format := range []string{"deb", "rpm"} {
			data, err := r.packed(format, t, files)
			add(name+"."+format, data, err)
		}
	}
	var made []string
	for _, o := range outputs {
		if o.err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, o.err)
		}
		if err := os.WriteFile(filepath.Join(r.out, o.name), o.data, 0o644); err != nil {
			return nil, err
		}
		made = append(made, o.name)
	}
	return made, nil
}

// sums writes the checksums of files, and the signature of the checksums. Without a key, it removes an earlier
// signature.
func (r *release) sums(names []string) error {
	slices.SortFunc(names, cmp.Compare[string])
	var b bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	if err := os.WriteFile(filepath.Join(r.out, sumsName), b.Bytes(), 0o644); err != nil {
		return err
	}
	path := filepath.Join(r.out, signatureName)
	if r.signer == nil { // the signature of an earlier release in the directory would not fit
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	signature, err := r.signer.sign(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(path, signature, 0o644)
}
