package campaign_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/coordinator/campaign"
)

func TestPatternsOfJDKs(t *testing.T) {
	have := []string{"openjdk-28", "openjdk-27", "openjdk-28@0a1b", "jdk17"}
	for want, names := range map[string][]string{
		"jdk17 openjdk-27 openjdk-28": {"jdk17", "openjdk-*"},
		"openjdk-28 openjdk-27":       {"openjdk-28", "openjdk-2?"},
		"openjdk-28@0a1b":             {"openjdk-28@*"},
		"other":                       {"other", "nonesuch-*", "["},
	} {
		got := ""
		for _, name := range campaign.Expand(names, have) {
			got += " " + name
		}
		assert.Equal(t, " "+want, got)
	}
}
