package wire

import (
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"google.golang.org/protobuf/proto"
)

// Change is a call of ApplyResourceChange with its answer. Its objects stay encoded. If the engine crashes, the keeper
// (the process that starts providers) uses the Change to record the result of the call.
type Change struct {
	Request  provider.ApplyRequest
	Response provider.ApplyResponse
	Diags    provider.Diags
}

// ReadChange decodes a call of ApplyResourceChange and its answer. The messages are the same in both versions of the
// protocol. ReadChange returns an error if a message is malformed.
func ReadChange(request, answer []byte) (Change, error) {
	var req wirepb.ApplyResourceChange_Request
	if err := proto.Unmarshal(request, &req); err != nil {
		return Change{}, err
	}
	var resp wirepb.ApplyResourceChange_Response
	if err := proto.Unmarshal(answer, &resp); err != nil {
		return Change{}, err
	}
	return Change{
		provider.ApplyRequest{
			Type: req.TypeName, Prior: fromDynamic(req.PriorState), Planned: fromDynamic(req.PlannedState), Config: fromDynamic(req.Config),
			Private: req.PlannedPrivate, Identity: fromIdentity(req.PlannedIdentity), Meta: fromDynamic(req.ProviderMeta),
		},
		applied(&resp, false), (&client{}).diags(resp.Diagnostics),
	}, nil
}

// Opening is a call of OpenEphemeralResource with its answer.
type Opening struct {
	Type           string
	Config, Result provider.Dynamic
}

// ReadOpening decodes a call of OpenEphemeralResource. It returns an error if a message is malformed.
func ReadOpening(request, answer []byte) (Opening, error) {
	var req wirepb.OpenEphemeralResource_Request
	if err := proto.Unmarshal(request, &req); err != nil {
		return Opening{}, err
	}
	var resp wirepb.OpenEphemeralResource_Response
	err := proto.Unmarshal(answer, &resp)
	return Opening{req.TypeName, fromDynamic(req.Config), fromDynamic(resp.Result)}, err
}

// Raw is a codec of gRPC for messages that stay encoded: []byte to send, and *[]byte to receive.
type Raw struct{}

// Marshal returns v, which must be a []byte.
func (Raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

// Unmarshal stores a copy of data in v, which must be a *[]byte.
func (Raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

// Name returns the name of the codec for protobuf messages, so that a call has the same content type with both codecs.
func (Raw) Name() string { return "proto" }
