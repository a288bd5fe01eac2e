package tree

import "misstep/internal/filelock"

// workPattern names the folders in which trees are put together, beside where they go.
const workPattern = ".fetch-*"

// Sweep removes what killed fetches left in the folder of a cache; it is done before each fetch, too. What cannot be removed does
// no harm.
func Sweep(cache string) { _ = filelock.Sweep(cache, workPattern) }
