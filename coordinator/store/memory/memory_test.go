package memory_test

import (
	"testing"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}
