package state

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// TestObjectsUnchanged checks that Edit.Objects returns the original snapshot, including its text, if no object was
// changed. After a change the new snapshot has no text.
func TestObjectsUnchanged(t *testing.T) {
	text := []byte(`{"version":4,"serial":3,"lineage":"l","outputs":{},"resources":[]}`)
	var bag diag.Bag
	s, ok := Read(text, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	if got := s.Edit().Objects(); got != s || string(got.Source()) != string(text) || !got.SameText(s) {
		t.Error("the snapshot is another one, though nothing was changed")
	}
	e := s.Edit()
	e.Put(addr.Instance{Mode: addr.Managed, Type: "t", Name: "x"}.Current(), &Entry{Attrs: []byte(`{}`)})
	if got := e.Objects(); got == s || got.Source() != nil || got.SameText(s) || got.Len() != 1 {
		t.Errorf("after a change there are %d objects, and the text %q", got.Len(), got.Source())
	}
	if (*Snapshot)(nil).Source() != nil || (*Snapshot)(nil).SameText(s) {
		t.Error("where there is no state there is a text")
	}
}
