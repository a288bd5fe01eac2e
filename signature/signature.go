// Package signature is the identity of a finding: what of a mismatch, a crash or a hang belongs to the bug, in one text form with one parser.
//
// A signature has a kind and parts, each one line of UTF-8 text:
//
//	mismatch  check, kind of the difference, place (see Place)
//	crash     error, "frame: F", "walker: A < B", "thread: T", "operation: O"
//	hang      cause, then who waits where, sorted
//
// Its id is derived from its text form and nothing else. The form is versioned and frozen: within a Version an id means the same for ever.
package signature
