package httpstore

import (
	"net/url"
	"strings"
	"testing"
)

// TestPlace checks which parameters of an address are part of the place of a state. Saved plans and journals belong to
// a place.
func TestPlace(t *testing.T) {
	place := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		p := New(Options{Address: u}).Capabilities().Place.Place("default")
		if strings.Contains(p, "canary") {
			t.Errorf("the place of %s is %s", address, p)
		}
		return p
	}
	const dev = "https://h/s?env=dev"
	for address, same := range map[string]bool{
		"https://h/s?env=dev&token=canary-1": true, "https://u:canary-1@h/s?env=dev": true, "https://h/s?env=dev&X-Amz-Signature=canary-1&X-Amz-Date=canary-2": true,
		"https://h/s?env=dev&sv=canary-1&se=canary-2&sig=canary-3": true, "https://h/s?Private_Token=canary-1&env=dev": true,
		"https://h/s?env=prod": false, "https://h/s": false, "https://h/s?env=dev&state=canary-1": false, "https://h/t?env=dev": false,
	} {
		if is := place(address) == place(dev); is != same {
			t.Errorf("%s: the same place as %s: %t", address, dev, is)
		}
	}
	if p := place("https://h/s?token=canary-1"); p != "http:h/s" {
		t.Errorf("without other parameters: %s", p)
	}
}
