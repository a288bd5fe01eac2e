package corpus

// Swept is what a store has removed because nobody needs it, or would have removed.
type Swept struct {
	// Kept blobs are needed, Spared ones younger than the grace time.
	Kept, Spared, Removed int
	// Bytes of the removed ones.
	Bytes int64
}
