package custody

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// receiptsState is the name under which the store keeps the key of receipts.
const receiptsState = "receipts"

// keySize in bytes; receipts are as long.
const keySize = sha256.Size

// Receipts proves that an owner has written a blob. A receipt is a code (HMAC-SHA-256) of owner, digest and size by a key that only
// the coordinators of a store know: nothing is kept of it, and any of them can check it.
type Receipts struct{ key [keySize]byte }

// OpenReceipts reads the key from a store, or makes it.
func OpenReceipts(ctx context.Context, s store.Store) (*Receipts, error) {
	r := &Receipts{}
	err := s.Update(ctx, func(tx store.Tx) error {
		key, err := tx.WorkerState(receiptsState)
		if err != nil {
			return err
		}
		if len(key) == 0 {
			key = make([]byte, keySize)
			_, _ = rand.Read(key) // never fails, see its documentation
			if err := tx.PutWorkerState(receiptsState, key); err != nil {
				return err
			}
		}
		if len(key) != keySize {
			return fmt.Errorf("it has %d bytes, not %d", len(key), keySize)
		}
		copy(r.key[:], key)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the key of receipts: %w", err)
	}
	return r, nil
}

// Of returns the receipt of an owner for a blob, by the text of its digest.
func (r *Receipts) Of(owner, digest string, size uint64) []byte {
	mac := hmac.New(sha256.New, r.key[:])
	var n [8]byte
	for _, part := range []string{owner, digest} { // lengths tell the parts apart
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		_, _ = mac.Write(n[:])
		_, _ = mac.Write([]byte(part))
	}
	binary.BigEndian.PutUint64(n[:], size)
	_, _ = mac.Write(n[:])
	return mac.Sum(nil)
}

// Check returns an error unless each piece of evidence has the receipt of the owner.
func (r *Receipts) Check(owner string, all []*misstepv1.Evidence) error {
	for i, e := range all {
		if !hmac.Equal(e.GetReceipt(), r.Of(owner, e.GetDigest(), e.GetSize())) {
			return fmt.Errorf("evidence %d (%.80q): no receipt says that %s wrote %s", i, e.GetName(), owner, e.GetDigest())
		}
	}
	return nil
}
