package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What nobody knows is bundled before anything that is known, and each known bug before a second finding of any.
func TestNewFindingsAreBundledFirst(t *testing.T) {
	var ids []string
	for _, f := range findings(&Report{Bugs: []Bug{
		{ID: "often", Known: true, Findings: []string{"a1", "a2", "a3"}},
		{ID: "seldom", Known: true, Findings: []string{"b1"}},
		{ID: "n1", Findings: []string{"n1"}},
		{ID: "n2", Findings: []string{"n2"}},
	}}) {
		ids = append(ids, f.id)
	}
	assert.Equal(t, []string{"n1", "n2", "a1", "b1", "a2", "a3"}, ids)
}
