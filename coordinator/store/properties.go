package store

// PropertyRows is a second, optional interface of a Tx: what is true of the store as a whole, by name. A store that does not
// outlast its process has none.
type PropertyRows interface {
	// Property returns a property; empty when there is none.
	Property(name string) (string, error)
	// PutProperty replaces a property; an empty text removes it.
	PutProperty(name, text string) error
}

// Names of properties.
const (
	// PropertyID is the name of the store's identity: 16 random hexadecimal digits, made with the store. A copy and a backup have
	// that of their source: blobs belong to a store by it.
	PropertyID = "id"
	// PropertyIncomplete is the name of the mark of a store into which another one is being copied: from where and since when.
	// Whoever opens it for anything else refuses it.
	PropertyIncomplete = "incomplete"
)
