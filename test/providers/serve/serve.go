// Package serve runs a provider as terraform-plugin-go does, but with a TLS key of another curve. go-plugin makes a key
// of the curve P-521 at every start. This key and its use in the handshake cost 30 ms of CPU time, which is most of the
// time of a short command, and the tests start providers thousands of times. A key of the curve P-256 costs less than 1
// ms. terraform-provider-playground5 and terraform-provider-strict use the key of go-plugin, as real providers do. With
// PLAYGROUND_KEY=sdk the others use it, too.
package serve

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"
)

// EnvKey names the environment variable that selects the TLS key of a provider. With "sdk", go-plugin makes the key (of
// curve P-521). With any other value, the functions of this package make a key of curve P-256.
const EnvKey = "PLAYGROUND_KEY"

// Protocol5 serves a provider over protocol 5 until the engine ends it.
func Protocol5(name string, provider func() tfprotov5.ProviderServer) error {
	if os.Getenv(EnvKey) == "sdk" {
		return tf5server.Serve(name, provider)
	}
	return run(5, &tf5server.GRPCProviderPlugin{GRPCProvider: provider, Name: name})
}

// Protocol6 serves a provider over protocol 6 until the engine ends it.
func Protocol6(name string, provider func() tfprotov6.ProviderServer) error {
	if os.Getenv(EnvKey) == "sdk" {
		return tf6server.Serve(name, provider)
	}
	return run(6, &tf6server.GRPCProviderPlugin{GRPCProvider: provider, Name: name})
}

// maxMessage is the size of the largest message that terraform-plugin-go sends and accepts, in bytes.
const maxMessage = 256 << 20

// run does the steps of the libraries of both protocols, and returns when the engine ends the provider. If the engine
// sends no certificate, it uses no TLS, as go-plugin does in this case. A certificate that cannot be read is an error.
func run(protocol uint, p plugin.Plugin) error {
	config := &plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  protocol,
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		Plugins: plugin.PluginSet{"provider": p},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
		},
	}
	if engine := os.Getenv("PLUGIN_CLIENT_CERT"); engine != "" {
		identity, err := identify(engine)
		if err != nil {
			return err
		}
		if err := announce(identity.Certificates[0].Certificate[0]); err != nil {
			return err
		}
		config.TLSProvider = func() (*tls.Config, error) { return identity, nil }
	}
	plugin.Serve(config)
	return nil
}

// identify returns the settings of TLS, with a key and a certificate like those of go-plugin except for the curve. They
// accept only the engine's certificate, which is in PEM.
func identify(engine string) (*tls.Config, error) {
	engines := x509.NewCertPool()
	if !engines.AppendCertsFromPEM([]byte(engine)) {
		return nil, errors.New("PLUGIN_CLIENT_CERT is no certificate")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localhost", Organization: []string{"HashiCorp"}},
		DNSNames:              []string{"localhost"},
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		NotBefore:             time.Now().Add(-30 * time.Second),
		NotAfter:              time.Now().AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    engines,
		MinVersion:   tls.VersionTLS12,
		RootCAs:      engines,
		ServerName:   "localhost",
	}, nil
}

// announce replaces os.Stdout by a pipe, and copies the output of the process from this pipe to the original standard
// output. It appends the certificate to the first line, which is the handshake line of go-plugin: its last field is the
// certificate, which go-plugin leaves empty if it did not make the certificate.
func announce(certificate []byte) error {
	line, w, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout := os.Stdout
	os.Stdout = w
	go func() {
		r := bufio.NewReader(line)
		text, err := r.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = io.WriteString(stdout, strings.TrimSuffix(text, "\n")+base64.RawStdEncoding.EncodeToString(certificate)+"\n")
		_, _ = io.Copy(stdout, r)
	}()
	return nil
}
