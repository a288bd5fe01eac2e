package memory_test

import (
	"testing"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
)

func TestStore(t *testing.T) {
	corpustest.TestStore(t, func(*testing.T) corpus.Store { return memory.New() })
}
