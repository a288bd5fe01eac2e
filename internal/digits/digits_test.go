package digits_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/digits"
)

func TestGroup(t *testing.T) {
	for number, want := range map[string]string{
		"": "", "7": "7", "123": "123", "1234": "1\u202f234", "123456": "123\u202f456", "1234567": "1\u202f234\u202f567",
	} {
		assert.Equal(t, want, digits.Group(number))
	}
}
