package querycmd

import "testing"

// TestStatusIsNoReference checks that only texts that can identify an object, and not words such as ACTIVE, become
// references.
func TestStatusIsNoReference(t *testing.T) {
	for text, want := range map[string]bool{
		"vpc-0a1b": true, "arn:aws:s3:::logs": true, "lb.example": true, "thing-a": true, "12345": true,
		"ACTIVE": false, "available": false, "Standard_LRS": false, "a-1": false, "": false,
	} {
		if got := identifies(text); got != want {
			t.Errorf("identifies(%q) = %t", text, got)
		}
	}
}
