package vm

import (
	"context"

	"misstep/deploy/vm/kernel"
)

// Kernel returns the kernel that a machine boots and fetches it if it is not cached; with update it first looks for a newer one.
func Kernel(ctx context.Context, c Config, update bool) (kernel.Kernel, error) {
	fetcher := c.kernels()
	if update {
		return fetcher.Fetch(ctx)
	}
	return fetcher.Get(ctx)
}
