module github.com/lethe-iac/lethe/test/vault

go 1.26.8

toolchain go1.26.11

require github.com/lethe-iac/lethe/test/providers v0.0.0

replace github.com/lethe-iac/lethe/test/providers => ../providers
