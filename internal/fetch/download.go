package fetch

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/download"
)

// downloader downloads packages of providers and reports the progress. Its methods may be called concurrently.
type downloader struct {
	sources  *Sources // has the HTTP client and the number of retries
	progress *Progress
}

// temporary downloads a package into a temporary file in dir, checks its checksum, calls the function use with the path
// of the file, and removes the file. If the server announced several hashes, one of them must match. If the checksum of
// the file was unknown, temporary sets it, because the lock file may have it.
func (l *downloader) temporary(ctx context.Context, pkg parcel, dir string, use func(zip string) error) error {
	is := pkg.remote
	known := is.Sum != ""
	return temporary(dir, is.Sum, func(f *os.File) (sum string, err error) {
		if sum, err = l.save(ctx, pkg, download.ToFile(f)); err == nil && !known {
			is.Sum = sum
		}
		return sum, err
	}, func(zip string) error {
		if !known && len(is.Contents) > 0 && !slices.Contains(is.Contents, "zh:"+is.Sum) {
			if h1, err := hashArchive(zip); err != nil || !slices.Contains(is.Contents, h1) {
				return cmp.Or(err, fmt.Errorf("the package has the checksum %s, but the server announced %s", h1, strings.Join(is.Contents, " or ")))
			}
		}
		return use(zip)
	})
}

// save downloads a package to a target and returns its SHA-256 in hexadecimal.
func (l *downloader) save(ctx context.Context, pkg parcel, to download.Target) (string, error) {
	moved, ended := l.progress.download(pkg.name)
	defer ended()
	if pkg.remote.Save != nil {
		return hashed(ctx, pkg.remote.Save, counted{to, pkg.remote.Size, moved, new(int64)}, maxPackage)
	}
	client := *l.sources.Registry.Client
	client.Retries = l.sources.Retries
	if pkg.retries != nil {
		client.Retries = *pkg.retries
	}
	got, err := client.Save(ctx, pkg.remote.URL, to, maxPackage, moved)
	return hex.EncodeToString(got.Sum[:]), err
}

// counted is a writer that reports how many bytes of a download it has received. The field all is the expected number
// of bytes.
type counted struct {
	io.Writer
	all   int64
	moved func(done, all int64)
	done  *int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	*c.done += int64(n)
	c.moved(*c.done, c.all)
	return n, err
}

// temporary calls save to write a temporary file in dir. save returns the SHA-256 of the file in hexadecimal. If
// promised is not "", temporary compares this checksum with promised. It then calls the function use with the path of
// the file, and removes the file.
func temporary(dir, promised string, save func(*os.File) (string, error), use func(path string) error) error {
	f, err := os.CreateTemp(dir, ".download-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	sum, err := save(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := checkSum(promised, sum); err != nil {
		return err
	}
	return use(f.Name())
}

// byURL downloads the content of an address into f, at most limit bytes, and returns its SHA-256 in hexadecimal.
func byURL(ctx context.Context, c *download.Client, u *url.URL, f *os.File, limit int64) (string, error) {
	got, err := c.Save(ctx, u, download.ToFile(f), limit, nil)
	return hex.EncodeToString(got.Sum[:]), err
}

// hashed calls save, which writes at most limit bytes to the writer that it receives. hashed writes these bytes to the
// other writer, the argument to, and returns their SHA-256 in hexadecimal.
func hashed(ctx context.Context, save func(context.Context, io.Writer, int64) error, to io.Writer, limit int64) (string, error) {
	h := sha256.New()
	err := save(ctx, io.MultiWriter(to, h), limit)
	return hex.EncodeToString(h.Sum(nil)), err
}

// checkSum compares the SHA-256 of an archive with the expected SHA-256 in hexadecimal. "" accepts any archive.
func checkSum(want, got string) error {
	switch want = strings.ToLower(want); {
	case want == "" || want == got:
		return nil
	case len(want) != len(got):
		return errors.New("its checksum is not a SHA-256, the only supported kind")
	}
	return fmt.Errorf("the archive has the SHA-256 checksum %s, but should have %s", got, want)
}

// checkFile compares an archive with the checksum in the address of a module: "", "HEX" or "KIND:HEX". The length of
// HEX determines the kind if it is missing. "" accepts any archive.
func checkFile(want, path string) error {
	if want == "" {
		return nil
	}
	kind, sum, named := strings.Cut(strings.ToLower(want), ":")
	if !named {
		kind, sum = "", kind
	}
	for name, h := range map[string]hash.Hash{"md5": md5.New(), "sha1": sha1.New(), "sha256": sha256.New(), "sha512": sha512.New()} {
		if named && kind != name || len(sum) != 2*h.Size() {
			continue
		}
		if err := readInto(h, path); err != nil {
			return err
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != sum {
			return fmt.Errorf("the archive has the %s checksum %s, but should have %s", name, got, sum)
		}
		return nil
	}
	return errors.New("its checksum is not of a supported kind: md5, sha1, sha256 or sha512")
}
