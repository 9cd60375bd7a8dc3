package backend

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
)

const encrypting = `encryption {
  key_provider "pbkdf2" "main" { passphrase = "canary-17 of sixteen letters" }
  method "aes_gcm" "main" { keys = key_provider.pbkdf2.main }
  state { method = method.aes_gcm.main }
}
`

func TestEncryptionIsEvaluatedOnce(t *testing.T) {
	b := newBench(t)
	b.configure("encryption {\n state {}\n}")
	if _, ok := b.encryption.get(); ok {
		t.Error("evaluated")
	}
	b.reported(badEncryption)
	if _, ok := b.encryption.get(); ok {
		t.Error("the second call succeeds")
	}
	b.reported()
	b.configure("")
	b.encryption.reset()
	if e, ok := b.encryption.get(); !ok || e.State != nil {
		t.Errorf("after a reset: %+v, %v", e, b.Env.Bag.List())
	}
}

func TestEncryptionOfAPlanIsUsedIfTheDirectoryDeclaresNone(t *testing.T) {
	for _, declares := range []bool{true, false} {
		b := newBench(t)
		b.configure(encrypting)
		root := b.root
		before, _ := b.Encryption()
		b.UsePlan(&Planned{}, func() *config.Module {
			if declares {
				return root
			}
			return nil
		})
		b.EncryptionOfPlan()
		if after, _ := b.Encryption(); (after == before) != declares {
			t.Errorf("declares %t: evaluated again: %t", declares, after != before)
		}
	}
}

func TestCheckOfAnEncryptionAsksForNoKey(t *testing.T) {
	b := newBench(t)
	b.configure("encryption {\n key_provider \"external\" \"k\" { command = [\"touch\", \"" + filepath.Join(b.Env.Dir, "ran") + "\"] }\n method \"aes_gcm\" \"m\" { keys = key_provider.external.k }\n state { method = method.aes_gcm.other }\n}")
	b.encryption.check(&config.Tree{Root: &config.Node{Module: b.root}}, b.o.Static(b.root))
	b.reported(badEncryption)
	if b.exists("ran") {
		t.Error("the command ran")
	}
}

func TestOpenedStoreEncryptsStates(t *testing.T) {
	b := newBench(t)
	b.configure(encrypting)
	st, ok := b.opener.open(ctx, implied())
	if !ok {
		t.Fatal(b.Env.Bag.List())
	}
	if _, err := st.Put(ctx, store.Default, []byte(`{"canary": "canary-18"}`), ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.Env.Dir, "terraform.tfstate"))
	if err != nil || bytes.Contains(text, []byte("canary")) || !crypt.Sealed(text) {
		t.Errorf("%s, %v", text, err)
	}
	if st, ok = b.opener.unencrypted(ctx, implied()); !ok {
		t.Fatal(b.Env.Bag.List())
	}
	if data, _, err := st.Get(ctx, store.Default); err != nil || !bytes.Equal(data, text) {
		t.Errorf("unencrypted: %s, %v", data, err)
	}
}

func TestClientsReportTheSecretsOfTheirSettings(t *testing.T) {
	b := newBench(t)
	var got []string
	b.opener.clients.o.Secret = func(text, where string) { got = append(got, text+" in "+where) }
	s := b.declare("backend \"http\" {\n  address = \"http://127.0.0.1:1/\"\n  username = \"u\"\n  password = \"canary-17\"\n}")
	if _, ok := b.opener.unencrypted(ctx, s); !ok {
		t.Fatal(b.Env.Bag.List())
	}
	if !slices.Contains(got, `canary-17 in the settings of backend "http"`) {
		t.Errorf("%q", got)
	}
}

func TestMistakeOfAFormerBackendNamesTheSettingsThatWereNotRecorded(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "s3" {}`)
	s.unrecorded = []string{"bucket"}
	if _, ok := b.opener.former(ctx, s); ok {
		t.Fatal("opened")
	}
	for _, d := range b.Env.Bag.List() {
		if d.Severity != diag.Error || !bytes.Contains([]byte(d.Detail), []byte("were not saved: bucket.")) {
			t.Errorf("%+v", d)
		}
	}
}
