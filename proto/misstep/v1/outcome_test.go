package misstepv1

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOutcomeNames(t *testing.T) {
	for kind, name := range map[OutcomeKind]string{
		OutcomeKind_OUTCOME_KIND_CLEAN:               "clean",
		OutcomeKind_OUTCOME_KIND_MISMATCHES:          "mismatches",
		OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE: "application-failure",
	} {
		assert.Equal(t, name, OutcomeName(kind))
	}
}
