package sqlrows

import (
	"sync"

	misstepv1 "misstep/proto/misstep/v1"
)

// maxTemplates bounds the templates that are kept.
const maxTemplates = 10_000

// Templates are templates of recipes that transactions of a store have read. A row of theirs never changes. They are safe for
// concurrent use; the zero value is empty.
type Templates struct {
	mu    sync.RWMutex
	byKey map[int64]*misstepv1.Recipe
}

func (t *Templates) get(key int64) *misstepv1.Recipe {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byKey[key]
}

func (t *Templates) put(key int64, r *misstepv1.Recipe) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil || len(t.byKey) >= maxTemplates {
		t.byKey = map[int64]*misstepv1.Recipe{}
	}
	t.byKey[key] = r
}

// Forget is called after a connection was lost: what answers next may be another database.
func (t *Templates) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byKey = nil
}
