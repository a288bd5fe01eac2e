package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithoutValues(t *testing.T) {
	for text, want := range map[string]string{
		"unexpected frame info: last=true, calls=1":      "unexpected frame info: last=VALUE, calls=VALUE",
		"unexpected frame info: last=false, calls = 0":   "unexpected frame info: last=VALUE, calls = VALUE",
		"expected 3 but 4":                               "expected NUM but NUM",
		"offset -16 out of range":                        "offset NUM out of range",
		"bad oop 0x00007f001122 at 00007f0011223344":     "bad oop ADDR at ADDR",
		"acquiring lock Service_lock/9 with lock Heap/3": "acquiring lock Service_lock/NUM with lock Heap/NUM",
		"C2 compiled Op_LoadN4 wrongly":                  "C2 compiled Op_LoadN4 wrongly",
		"state: true, next: null":                        "state: VALUE, next: VALUE",
		"cannot open /tmp/build-17/libdemo1234567890.so": "cannot open libdemo.so",
		"id 6c0a3b52-2f0e-4d0a-8a39-0d6a6d4b9c1e":        "id UUID",
		"used 12M of 1.5G in 30ms, 99%":                  "used NUM of NUM in NUM, NUM%",
		"must be locked":                                 "must be locked",
	} {
		assert.Equal(t, want, WithoutValues(text), text)
		assert.Equal(t, want, WithoutValues(want), "once is enough: %s", text)
	}
}
