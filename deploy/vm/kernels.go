package vm

import (
	"context"

	"misstep/deploy/vm/kernel"
)

// Kernel finds the kernel that a machine boots and fetches it when it is not cached; with update it looks for a newer one first.
func Kernel(ctx context.Context, c Config, update bool) (kernel.Kernel, error) {
	fetcher := c.kernels()
	if update {
		return fetcher.Fetch(ctx)
	}
	return fetcher.Get(ctx)
}
