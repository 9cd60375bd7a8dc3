package download

import "context"

// behalf says whose credentials go to a host.
type behalf struct{ of, at string }

type behalfKey struct{}

// OnBehalf lets requests to the host at be made with the credentials that the user has for another host: for the
// registry that offers its services there.
func OnBehalf(ctx context.Context, of, at string) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{of, at})
}

// Audience is the host whose credentials go to a host.
func Audience(ctx context.Context, host string) string {
	if b, ok := ctx.Value(behalfKey{}).(behalf); ok && b.at == host {
		return b.of
	}
	return host
}
