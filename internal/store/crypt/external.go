package crypt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// program is a program of the user that makes keys, encrypts or decrypts, with OpenTofu's protocol. The program writes
// a line with the name of the protocol (magic), reads one JSON value, and writes another JSON value. command is the
// name of the program with its arguments, and dir is its working directory.
type program struct {
	command []string
	dir     string
	magic   string
}

func newProgram(s store.Settings, setting, magic string) (program, error) {
	p := program{s.List(setting), s.Dir, magic}
	if len(p.command) == 0 || p.command[0] == "" {
		return p, fmt.Errorf("%q names no program", setting)
	}
	return p, nil
}

// mostOutput is the maximum size of a program's output, in bytes, because the output is read into memory.
const mostOutput = 1 << 30

// output collects the output of a program in memory. Write returns an error if the output exceeds mostOutput.
type output struct{ text bytes.Buffer }

// Write appends text, or returns an error if the output would exceed mostOutput.
func (o *output) Write(text []byte) (int, error) {
	if o.text.Len()+len(text) > mostOutput {
		return 0, errors.New("its output is too large")
	}
	return o.text.Write(text)
}

// ask runs the program, sends it the input as JSON (nil as null), and decodes its JSON answer into answer. If the
// program cannot be started, the error is a *serviceError.
func (p program) ask(ctx context.Context, in, answer any) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var errs subprocess.Beginning
	var out output
	cmd, err := subprocess.RunPatiently(ctx, func() *exec.Cmd {
		cmd := subprocess.Command(ctx, p.command[0], p.command[1:]...)
		if subprocess.HasTerminal() { // the program may ask the user on /dev/tty, for example for a PIN
			cmd.SysProcAttr = subprocess.OnTerminal(syscall.SIGTERM)
		}
		errs, out = subprocess.Beginning{}, output{}
		cmd.Dir, cmd.Stdin, cmd.Stderr, cmd.Stdout = p.dir, bytes.NewReader(input), &errs, &out
		return cmd
	})
	if err != nil && cmd.Process == nil {
		return &serviceError{fmt.Errorf("the program %s cannot be started: %w", p.command[0], err)}
	}
	if err != nil {
		want := strings.TrimSpace(errs.String())
		if want != "" {
			want = ", and said: " + want
		}
		return fmt.Errorf("the program %s failed (%w)%s", p.command[0], err, want)
	}
	r := bufio.NewReader(&out.text)
	first, _ := r.ReadBytes('\n')
	var header struct {
		Magic   string `json:"magic"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(first, &header) != nil || header.Magic != p.magic {
		return fmt.Errorf("the program %s does not begin with the line {\"magic\":%q,\"version\":1}", p.command[0], p.magic)
	}
	if header.Version != 1 {
		return fmt.Errorf("the program %s uses version %d of the protocol, but only version 1 is supported", p.command[0], header.Version)
	}
	if err := json.NewDecoder(r).Decode(answer); err != nil {
		return fmt.Errorf("the answer of the program %s is not valid", p.command[0])
	}
	return nil
}

// externalProvider is a key provider that gets its keys from a program of the user.
type externalProvider struct{ program }

func newExternalProvider(s store.Settings) (Provider, error) {
	p, err := newProgram(s, "command", "OpenTofu-External-Key-Provider")
	return externalProvider{p}, err
}

type externalKeys struct {
	Keys struct {
		Encryption []byte `json:"encryption_key"`
		Decryption []byte `json:"decryption_key"`
	} `json:"keys"`
	Meta json.RawMessage `json:"meta"`
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (p externalProvider) NewKey(ctx context.Context, _ []byte) (key, meta []byte, err error) {
	var out externalKeys
	if err := p.ask(ctx, nil, &out); err != nil {
		return nil, nil, err
	}
	if len(out.Keys.Encryption) == 0 {
		return nil, nil, fmt.Errorf("the answer of the program %s has no encryption_key", p.command[0])
	}
	if len(out.Meta) == 0 {
		out.Meta = json.RawMessage("{}")
	}
	return out.Keys.Encryption, out.Meta, nil
}

// RecoverKey recovers the key that was made with meta. After a success, the second result is always true, because only
// the program knows how it makes keys.
func (p externalProvider) RecoverKey(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	if !json.Valid(meta) {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	var out externalKeys
	if err := p.ask(ctx, json.RawMessage(meta), &out); err != nil {
		return nil, false, &serviceError{err}
	}
	if len(out.Keys.Decryption) == 0 {
		return nil, false, &serviceError{fmt.Errorf("the answer of the program %s has no decryption_key", p.command[0])}
	}
	return out.Keys.Decryption, true, nil
}

// externalMethod is an encryption method that encrypts and decrypts with programs of the user.
type externalMethod struct{ encrypt, decrypt program }

func newExternalMethod(s store.Settings) (Method, error) {
	const magic = "OpenTofu-External-Encryption-Method"
	e, err1 := newProgram(s, "encrypt_command", magic)
	d, err2 := newProgram(s, "decrypt_command", magic)
	return externalMethod{e, d}, errors.Join(err1, err2)
}

type externalPayload struct {
	Key     []byte `json:"key,omitempty"`
	Payload []byte `json:"payload"`
}

// Seal encrypts plain with a key.
func (m externalMethod) Seal(ctx context.Context, key, plain []byte) ([]byte, error) {
	return m.encrypt.convert(ctx, key, plain)
}

// Open decrypts the result of Seal. It never returns ErrKey: if the program fails, the reason is not known.
func (m externalMethod) Open(ctx context.Context, key, data []byte) ([]byte, error) {
	return m.decrypt.convert(ctx, key, data)
}

func (p program) convert(ctx context.Context, key, in []byte) ([]byte, error) {
	var out externalPayload
	err := p.ask(ctx, externalPayload{key, in}, &out)
	if err == nil && len(out.Payload) == 0 {
		err = fmt.Errorf("the answer of the program %s has no payload", p.command[0])
	}
	return out.Payload, err
}
