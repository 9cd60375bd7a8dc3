package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// opener opens stores with the configured encryption, and reports errors.
type opener struct {
	env        *workspace.Env
	display    func(path string) string
	clients    *clients
	declared   *declaration // adds the positions of settings to mistakes
	encryption *encryptionConfig
}

func newOpener(o Options, c *clients, declared *declaration, e *encryptionConfig) *opener {
	return &opener{env: o.Env, display: o.Display, clients: c, declared: declared, encryption: e}
}

// open opens a store with the configured encryption. If that fails, it reports an error and returns false.
func (o *opener) open(ctx context.Context, s settings) (store.Store, bool) {
	st, ok := o.unencrypted(ctx, s)
	if !ok {
		return nil, false
	}
	return o.encrypted(st)
}

// former opens the store from which states are moved. If that store cannot keep encrypted states, its states were
// written before encryption was configured, so the configuration must accept unencrypted states. If the store cannot be
// used, former reports an error and returns false.
func (o *opener) former(ctx context.Context, s settings) (store.Store, bool) {
	st, err := o.clients.open(ctx, s)
	if err != nil {
		for _, err := range store.Mistakes(err) {
			o.env.Bag.Add(formerly(s, err))
		}
		return nil, false
	}
	e, ok := o.encryption.get()
	if !ok {
		return nil, false
	}
	if st.Capabilities().NoEncryption == nil || !e.State.Encrypts() {
		return o.encrypted(st)
	}
	if _, _, err := e.State.Open(ctx, []byte("{}")); err != nil {
		o.env.Bag.Add(problem(err, "Failed to load state", "The state in the previous backend cannot be read: %s."))
		return nil, false
	}
	return st, true
}

// unencrypted opens a store without encryption. After an error, it reports the reason and returns false.
func (o *opener) unencrypted(ctx context.Context, s settings) (store.Store, bool) {
	st, err := o.clients.open(ctx, s)
	if err != nil {
		for _, problem := range notOpened(err, "in the block of the backend, or with `lethe init -backend-config`") {
			if len(problem.Path) > 0 && !o.declared.sets(s, problem.Path) {
				problem.Path = nil
				problem.Detail += "\n\nThe value is from -backend-config, not from the block."
			}
			o.env.Bag.Add(o.declared.at(problem, s.driver.Schema))
		}
		return nil, false
	}
	return st, true
}

// notOpened returns the diagnostics about a store that cannot be opened. The parameter to describes where users can set
// its settings.
func notOpened(err error, to string) (problems []diag.Diagnostic) {
	for _, err := range store.Mistakes(err) {
		var bad *store.SettingError
		var answer diag.Diagnostic // the diagnostic that a provider returned
		inSetting := errors.As(err, &bad)
		switch {
		case errors.As(err, &answer) && inSetting:
			problems = append(problems, answer.In(bad.Path))
		case errors.As(err, &answer):
			problems = append(problems, answer)
		case !inSetting:
			problems = append(problems, diag.Errorf("Failed to open the state store", "%s.", store.Sentence(err)))
		case bad.Missing:
			problems = append(problems, diag.Errorf("Missing required argument", "%s. Set it %s.", store.Sentence(err), to).In(bad.Path))
		default:
			problems = append(problems, diag.Errorf(badBackend, "%s.", store.Sentence(err)).In(bad.Path))
		}
	}
	return problems
}

// encrypted returns a store that encrypts the states of st as configured, or st if no encryption is configured. If the
// encryption settings are invalid, or st cannot keep encrypted states, encrypted adds an error and returns false.
func (o *opener) encrypted(st store.Store) (store.Store, bool) {
	e, ok := o.encryption.get()
	if !ok || e.State == nil {
		return st, ok
	}
	if plain := st.Capabilities().NoEncryption; plain != nil && e.State.Encrypts() {
		problem := diag.Errorf(badEncryption, "The configuration encrypts states, but this backend cannot store encrypted states: %s. Use another layout or backend, or encrypt the files of the database.", plain.NoEncryption())
		o.env.Bag.Add(o.declared.at(problem, nil))
		return nil, false
	}
	return crypt.Around(st, e.State), true
}

// problem returns the diagnostic for an error of reading a state. For an error of the encryption, it is the diagnostic
// in the error.
func problem(err error, title, format string) diag.Diagnostic {
	return workspace.Problem(err, diag.Errorf(title, format, fmt.Sprint(err)))
}

// formerly returns the diagnostic for a former backend whose states cannot be read.
func formerly(s settings, err error) diag.Diagnostic {
	why := fmt.Sprintf("The previous backend %q cannot be used: %s.", s.driver.Name, err)
	if len(s.unrecorded) > 0 {
		why += fmt.Sprintf("\n\nThese settings came from ephemeral variables and were not saved: %s. Set the environment variables of the backend instead.", strings.Join(s.unrecorded, ", "))
	}
	why += "\n\nTo leave the states there, run: lethe init -reconfigure"
	return workspace.Problem(err, diag.Errorf("Failed to read the previous backend", "%s", why))
}

// unusable returns the diagnostic for a store that was opened but does not work.
func (o *opener) unusable(s settings, err error) diag.Diagnostic {
	return o.declared.at(diag.Errorf("Failed to use the backend", "The backend %q cannot be used: %s.\n\nCheck its settings, its credentials and the network.", s.driver.Name, err), s.driver.Schema)
}

// place returns the place of a workspace's state for messages: the path of the file, or another description.
func (o *opener) place(s settings, st store.Store, workspace string) string {
	if f := st.Capabilities().Files; f != nil {
		return o.display(f.File(workspace))
	}
	return fmt.Sprintf("the backend %q", s.driver.Name)
}
