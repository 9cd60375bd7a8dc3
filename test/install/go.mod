module github.com/lethe-iac/lethe/test/install

go 1.26.8

toolchain go1.26.11

require (
	github.com/google/go-containerregistry v0.22.1
	github.com/lethe-iac/lethe v0.0.0
)

require (
	github.com/ProtonMail/go-crypto v1.5.2 // indirect
	github.com/cloudflare/circl v1.6.3 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/lethe-iac/lethe => ../..
