package store

import "strings"

// Holder is who holds a lease, as Lease.Runner has it: the runner's id, preceded by its owner and a space where callers are
// authenticated. Ids have no spaces, so no owner's runner can be taken for another owner's.
func Holder(owner, runner string) string {
	if owner == "" {
		return runner
	}
	return owner + " " + runner
}

// Owner returns the owner in a holder; empty where callers are not authenticated.
func Owner(holder string) string {
	return holder[:max(0, strings.LastIndexByte(holder, ' '))]
}
