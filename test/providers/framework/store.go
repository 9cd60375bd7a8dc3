package framework

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/statestore"
	storeschema "github.com/hashicorp/terraform-plugin-framework/statestore/schema"

	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// stateStore keeps states as files of a directory: NAME.tfstate, and NAME.lock while a state is locked.
type stateStore struct{ dir, failOn string }

var (
	_ statestore.StateStoreWithConfigure      = (*stateStore)(nil)
	_ statestore.StateStoreWithValidateConfig = (*stateStore)(nil)
)

func (s *stateStore) Metadata(_ context.Context, req statestore.MetadataRequest, resp *statestore.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_store"
}

func (s *stateStore) Schema(_ context.Context, _ statestore.SchemaRequest, resp *statestore.SchemaResponse) {
	resp.Schema = storeschema.Schema{
		Description: "Keeps states as files.",
		Attributes: map[string]storeschema.Attribute{
			"directory": storeschema.StringAttribute{Required: true, Description: "The directory of the files."},
			"fail_on":   storeschema.StringAttribute{Optional: true, Description: "Where to fail: validate, initialize, read, write, lock, unlock, list, delete."},
		},
	}
}

func (s *stateStore) ValidateConfig(_ context.Context, req statestore.ValidateConfigRequest, resp *statestore.ValidateConfigResponse) {
	if err := trouble.Fail(look(req.Config.Raw).str("fail_on"), "validate", "store"); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("fail_on"), "Invalid state store configuration", err.Error())
	}
}

// Initialize passes the settings to the store of each call.
func (s *stateStore) Initialize(_ context.Context, req statestore.InitializeRequest, resp *statestore.InitializeResponse) {
	config := look(req.Config.Raw)
	given := stateStore{config.str("directory"), config.str("fail_on")}
	if given.failed("initialize", &resp.Diagnostics) {
		return
	}
	check(os.MkdirAll(given.dir, 0o755), &resp.Diagnostics)
	resp.StateStoreData = given
}

func (s *stateStore) Configure(_ context.Context, req statestore.ConfigureRequest, _ *statestore.ConfigureResponse) {
	if given, ok := req.StateStoreData.(stateStore); ok {
		*s = given
	}
}

// failed adds an error to ds if the settings or the environment request a failure at the point. It reports whether it
// did.
func (s *stateStore) failed(point string, ds *diag.Diagnostics) bool {
	return check(trouble.Fail(s.failOn, point, "store"), ds)
}

// check adds err to ds, and reports whether err is not nil.
func check(err error, ds *diag.Diagnostics) bool {
	if err != nil {
		ds.AddError("The state store failed", err.Error())
	}
	return err != nil
}

func (s *stateStore) file(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }

func (s *stateStore) GetStates(_ context.Context, _ statestore.GetStatesRequest, resp *statestore.GetStatesResponse) {
	if s.failed("list", &resp.Diagnostics) {
		return
	}
	found, err := filepath.Glob(s.file("*", ".tfstate"))
	check(err, &resp.Diagnostics)
	for _, name := range found {
		resp.StateIDs = append(resp.StateIDs, strings.TrimSuffix(filepath.Base(name), ".tfstate"))
	}
}

func (s *stateStore) DeleteState(_ context.Context, req statestore.DeleteStateRequest, resp *statestore.DeleteStateResponse) {
	if !s.failed("delete", &resp.Diagnostics) {
		check(os.Remove(s.file(req.StateID, ".tfstate")), &resp.Diagnostics)
	}
}

func (s *stateStore) Read(_ context.Context, req statestore.ReadRequest, resp *statestore.ReadResponse) {
	if s.failed("read", &resp.Diagnostics) {
		return
	}
	data, err := os.ReadFile(s.file(req.StateID, ".tfstate"))
	if !errors.Is(err, fs.ErrNotExist) {
		check(err, &resp.Diagnostics)
	}
	resp.StateBytes = data
}

func (s *stateStore) Write(_ context.Context, req statestore.WriteRequest, resp *statestore.WriteResponse) {
	if !s.failed("write", &resp.Diagnostics) {
		check(os.WriteFile(s.file(req.StateID, ".tfstate"), req.StateBytes, 0o600), &resp.Diagnostics)
	}
}

func (s *stateStore) Lock(_ context.Context, req statestore.LockRequest, resp *statestore.LockResponse) {
	if s.failed("lock", &resp.Diagnostics) {
		return
	}
	who := statestore.NewLockInfo(req)
	text, err := json.Marshal(who)
	if check(err, &resp.Diagnostics) {
		return
	}
	f, err := os.OpenFile(s.file(req.StateID, ".lock"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		held, err := s.holder(req.StateID)
		if !check(err, &resp.Diagnostics) {
			resp.Diagnostics.Append(statestore.WorkspaceAlreadyLockedDiagnostic(req, held))
		}
		return
	}
	if check(err, &resp.Diagnostics) {
		return
	}
	_, err = f.Write(text)
	check(errors.Join(err, f.Close()), &resp.Diagnostics)
	resp.LockID = who.ID
}

// holder returns the lock of a state. A state that is not locked is an error.
func (s *stateStore) holder(id string) (held statestore.LockInfo, err error) {
	text, err := os.ReadFile(s.file(id, ".lock"))
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	return held, err
}

func (s *stateStore) Unlock(_ context.Context, req statestore.UnlockRequest, resp *statestore.UnlockResponse) {
	if s.failed("unlock", &resp.Diagnostics) {
		return
	}
	held, err := s.holder(req.StateID)
	if check(err, &resp.Diagnostics) {
		return
	}
	if held.ID != req.LockID {
		resp.Diagnostics.AddError("The lock has another ID", "The lock is "+held.ID+", not "+req.LockID+".")
		return
	}
	check(os.Remove(s.file(req.StateID, ".lock")), &resp.Diagnostics)
}
