// Package storetest is the conformance suite that every store passes.
//
// # How to run it on yours
//
// Call Run with a function that opens a new, empty store, and describe your store:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t, newDatabase(t)) }, storetest.Options{
//			Reopen:   func(t *testing.T, s store.Store) store.Store { return open(t, databaseOf(s)) },
//			Parallel: true,
//			Updates:  2, // each takes a round trip
//		})
//	}
//
// Each test has a store of its own, so a server needs a new database, or a new schema in one, for each. A store that loses its
// rows with its process leaves Reopen out. A store across a network sets Parallel and lowers Updates. Skip with testing's own
// Skip in the opening function when the server is not there, and say what is missing.
//
// Benchmark measures the most frequent operations of a coordinator, in the same way:
//
//	func BenchmarkStore(b *testing.B) {
//		storetest.Benchmark(b, func(b *testing.B) store.Store { return open(b, newDatabase(b)) })
//	}
//
// The transcripts and the reproductions of package coordinator also run on more than one store; add yours there.
package storetest
