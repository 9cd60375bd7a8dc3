// Package logincmd defines the commands that get and remove the user's tokens for hosts: login and logout.
package logincmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/settings"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/login"
	"github.com/lethe-iac/lethe/internal/registry"
)

// Login is the command `login`.
var Login = &base.Command{
	Name: "login", Args: "<hostname>", Short: "Obtain and save credentials for a remote host",
	Long: `Obtains a token for a host and saves it for later commands. Depending on the
host, you log in with a web browser or with a name and a password. For a host
without a login service, you paste a token.

The credentials helper of the CLI configuration saves the token. Without a
helper, the file credentials.tfrc.json beside the CLI configuration has it.`,
	Examples: [][2]string{
		{"lethe login registry.acme.corp", "Obtain a token and save it"},
	},
	Setup: base.NoFlags(runLogin),
}

// attempt is a login in progress.
type attempt struct {
	c    *base.Call
	host string
	asks *registry.Registry     // finds the login service of the host
	kept *cliconfig.Credentials // saves and removes tokens
}

func runLogin(ctx context.Context, c *base.Call) int {
	a, ok := begin(c)
	if !ok {
		return c.UI.Fail()
	}
	if !base.Asks(c) {
		c.Bag.Add(diag.Errorf("Login is an interactive command", "The command login asks questions, but TF_INPUT=%s turns them off. Unset it, or write the token into %s.", c.Getenv("TF_INPUT"), place(a.host)))
		return c.UI.Fail()
	}
	token, err := a.token(ctx)
	switch {
	case errors.Is(err, errCancelled):
		c.Bag.Add(diag.Errorf("Login cancelled", "Nothing was changed."))
	case err != nil:
		c.Bag.Add(diag.Errorf("Login failed", "Lethe obtained no token for %s: %s.", a.host, err))
	default:
		if err := a.kept.Keep(ctx, a.host, token); err != nil {
			c.Bag.Add(diag.Errorf("Failed to save the token", "The token for %s cannot be saved: %s.", a.host, err))
			break
		}
		c.UI.Print(c.Renamed(fmt.Sprintf("\nSuccess! Lethe has obtained and saved an API token.\n\nThe new API token will be used for any future Lethe command that must make\nauthenticated requests to %s.\n", a.host)))
	}
	return c.UI.Done(base.ExitOK)
}

// begin begins a login or a logout with the host in the operands. It reports an error and returns false if the host is
// invalid, if the settings cannot be read, or if the user has configured a token for the host manually.
func begin(c *base.Call) (*attempt, bool) {
	a := &attempt{c: c, host: strings.ToLower(c.Operands[0])}
	if a.host == "" || strings.ContainsAny(a.host, "/ @?#") {
		c.Bag.Add(diag.Errorf("Invalid hostname", "The argument must be the name of a host, such as registry.example.com, not %q.", c.Operands[0]))
		return nil, false
	}
	var ok bool
	if a.asks, a.kept, ok = settings.Hosts(c); ok && a.kept.Written(a.host) {
		c.Bag.Add(diag.Errorf("Credentials are manually configured", "A CLI configuration file or the environment has a token for %s, which overrides the token of login. To log in or out, remove it there.", a.host))
		ok = false
	}
	return a, ok
}

var errCancelled = errors.New("cancelled")

// token obtains a token by the method that the host offers. If the host offers two methods, OAuth with a browser has
// precedence over a name with a password. If the host has no login service, the user pastes a token. token returns
// errCancelled if the user does not agree or gives no answer.
func (a *attempt) token(ctx context.Context) (string, error) {
	how, err := a.asks.Login(ctx, a.host)
	var none *registry.NoServiceError
	switch {
	case errors.As(err, &none):
		return a.pasted()
	case err != nil:
		return "", err
	}
	client := login.Client{Login: how, Transport: a.asks.Client.Transport}
	var token string
	switch {
	case slices.Contains(how.Grants, "authz_code"):
		if !a.agreed("using OAuth.\n\nThis will work only if you are able to use a web browser on this computer to\ncomplete a login process. If not, you must obtain an API token by another\nmeans and configure it in the CLI configuration manually.") {
			return "", errCancelled
		}
		token, err = client.ByCode(ctx, a.show)
	case slices.Contains(how.Grants, "password"):
		if !a.agreed("using a name and a password.") {
			return "", errCancelled
		}
		name, ok := a.c.UI.Ask(base.Question{Title: "Username for " + a.host})
		if !ok || name == "" {
			return "", errCancelled
		}
		password, ok := a.c.UI.Ask(base.Question{Title: "Password for " + name + " at " + a.host, Secret: true})
		if !ok || password == "" {
			return "", errCancelled
		}
		a.kept.Learned(password, a.host)
		token, err = client.ByPassword(ctx, name, password)
	default:
		return "", fmt.Errorf("it offers only login methods that Lethe does not support: %s", strings.Join(how.Grants, ", "))
	}
	a.kept.Learned(token, a.host)
	return token, err
}

// agreed describes the login to the user, and asks for approval. The parameter how is the method, as a part of the
// sentence. It returns true only if the answer is "yes".
func (a *attempt) agreed(how string) bool {
	where := "the token will be saved by\n" + a.kept.Keeper() + "."
	if a.kept.Plain() {
		where = "Lethe will store the token in plain text in\nthe following file for use by subsequent commands:\n    " + a.kept.Keeper()
	}
	a.c.UI.Print(a.c.Renamed(fmt.Sprintf("Lethe will request an API token for %s %s\n\nIf login is successful, %s\n\n", a.host, how, where)))
	text, ok := a.c.UI.Ask(base.Question{Title: "Do you want to proceed?", Note: "Only 'yes' will be accepted to confirm."})
	return ok && text == "yes"
}

// pasted asks for a token that the user has created elsewhere. It returns errCancelled if the user does not agree or
// gives no token.
func (a *attempt) pasted() (string, error) {
	if !a.agreed("that you created there,\nbecause it has no login service.") {
		return "", errCancelled
	}
	token, ok := a.c.UI.Ask(base.Question{Title: "Token for " + a.host + ":", Secret: true})
	if token = strings.TrimSpace(token); !ok || token == "" {
		return "", errCancelled
	}
	a.kept.Learned(token, a.host)
	return token, nil
}

// show prints an address and opens it in the user's browser. If no browser starts, the user opens the printed address.
func (a *attempt) show(address string) {
	program, args := "xdg-open", []string{address}
	own := strings.Fields(a.c.Getenv("BROWSER"))
	switch {
	case len(own) > 0: // BROWSER has precedence on all systems
		program, args = own[0], append(own[1:], address)
	case runtime.GOOS == "darwin":
		program = "open"
	case runtime.GOOS == "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	a.c.UI.Print(a.c.Renamed(fmt.Sprintf("\nLethe must now open a web browser to the login page for %s.\n\nIf a browser does not open this automatically, open the following URL to proceed:\n    %s\n\nLethe will now wait for the host to signal that login was successful.\n\n", a.host, address)))
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = a.c.Environ, os.Stderr
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}

// place describes where a user can write a token for a host. If the host has a port, it does not name an environment
// variable, because no shell can set a variable with a colon in its name.
func place(host string) string {
	if strings.Contains(host, ":") {
		return fmt.Sprintf("a credentials %q block of the CLI configuration", host)
	}
	return "the environment variable TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
}
