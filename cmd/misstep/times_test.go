package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "1h40m": 100 * time.Minute, "30d": 720 * time.Hour, "106751d": 106751 * 24 * time.Hour,
	} {
		got, err := parseTime(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "d", "1.5d", "-1d", "1d12h", "30", "soon", "106752d", "9223372036854775808d"} {
		_, err := parseTime(text)
		require.EqualError(t, err, `"`+text+`": expected a time such as 90s, 36h or 30d`, text)
	}
}
