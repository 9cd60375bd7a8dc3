# What is made of this source beside `go build`. The version of a release is the product's own.
VERSION ?= 0.1.0-dev

.PHONY: build test release
build:
	CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -o lethe ./cmd/lethe

test:
	.ci/run

release:
	cd release && go run . -version $(VERSION) -out ../dist
