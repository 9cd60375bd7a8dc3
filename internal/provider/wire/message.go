package wire

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// toDynamic converts a value to a message, or to nil if the value has no bytes.
func toDynamic(d provider.Dynamic) *wirepb.DynamicValue {
	if isZero(d) {
		return nil
	}
	return &wirepb.DynamicValue{Msgpack: d.Msgpack, Json: d.JSON}
}

// toIdentity converts an identity to a message, or to nil if the identity has no bytes.
func toIdentity(d provider.Dynamic) *wirepb.ResourceIdentityData {
	if isZero(d) {
		return nil
	}
	return &wirepb.ResourceIdentityData{IdentityData: toDynamic(d)}
}

func isZero(d provider.Dynamic) bool { return len(d.Msgpack) == 0 && len(d.JSON) == 0 }

func fromDynamic(v *wirepb.DynamicValue) provider.Dynamic {
	return provider.Dynamic{Msgpack: v.GetMsgpack(), JSON: v.GetJson()}
}

func fromIdentity(v *wirepb.ResourceIdentityData) provider.Dynamic {
	return fromDynamic(v.GetIdentityData())
}

// rawJSON returns a message with a stored object in JSON, or nil if b is empty.
func rawJSON(b []byte) *wirepb.RawState {
	if len(b) == 0 {
		return nil
	}
	return &wirepb.RawState{Json: b}
}

// The capabilities of Lethe that a request announces: whether the provider may defer its decision. Write-only
// attributes are always allowed, because a provider would otherwise report an error for them in validation.
var (
	allowNothing  = &wirepb.ClientCapabilities{WriteOnlyAttributesAllowed: true}
	allowDeferral = &wirepb.ClientCapabilities{WriteOnlyAttributesAllowed: true, DeferralAllowed: true}
)

func capabilities(a provider.Allow) *wirepb.ClientCapabilities {
	if a.Deferral {
		return allowDeferral
	}
	return allowNothing
}

func fromDeferred(d *wirepb.Deferred) provider.Deferred {
	switch {
	case d == nil:
		return ""
	case wirepb.Deferred_Reason_name[int32(d.Reason)] == "":
		return "unknown"
	}
	return provider.Deferred(strings.ToLower(d.Reason.String()))
}

// fromTime converts a time. It returns the zero time for nil and for an invalid time. badTime reports an error for an
// invalid time.
func fromTime(t *timestamppb.Timestamp) time.Time {
	if t == nil || !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}
