// Package share passes bundles on from one corpus to another: Sync copies the bundles that one corpus has and the other lacks.
package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"misstep/bundle"
	"misstep/corpus"
	"misstep/corpus/index"
)

// Policy decides which bundles a corpus accepts.
type Policy struct {
	// Signers that are trusted; nil accepts unsigned bundles and any signature.
	Signers *bundle.Signers
}

// Report is what Sync did.
type Report struct {
	// Sent are the entries that the other corpus did not have before; Present those that it had.
	Sent, Present []index.Entry
	// Blobs that were copied, and their bytes: fewer than the entries need if an earlier Sync was interrupted or they share blobs.
	Blobs int
	Bytes int64
	// Refused entries, with the reasons. The others were sent.
	Refused []Refusal
}

// Refusal is an entry that was not accepted.
type Refusal struct {
	Entry index.Entry
	Err   error
}

// Sync copies the entries of from that to lacks, with their blobs: first the blobs, then the entry, if all blobs are there, the
// bundle is intact and it is signed as the policy requires. After an interruption call it again: blobs that have arrived are kept,
// a partial one is sent again. progress, which may be nil, is called for each entry. The error is a failure of a corpus, not a
// refused bundle.
func Sync(ctx context.Context, from, to index.Corpus, policy Policy, progress func(index.Entry, string)) (Report, error) {
	if progress == nil {
		progress = func(index.Entry, string) {}
	}
	var report Report
	theirs, err := from.Entries(ctx)
	if err != nil {
		return report, err
	}
	ours, err := to.Entries(ctx)
	if err != nil {
		return report, err
	}
	there := map[corpus.Digest]bool{}
	for _, e := range ours {
		there[e.Digest()] = true
	}
	slices.SortFunc(theirs, func(a, b index.Entry) int { return strings.Compare(string(a.Text()), string(b.Text())) })
	for _, e := range theirs {
		if there[e.Digest()] {
			report.Present = append(report.Present, e)
			continue
		}
		switch err := send(ctx, from, to, e, policy, &report); {
		case errors.As(err, new(*index.RefusedError)):
			report.Refused = append(report.Refused, Refusal{Entry: e, Err: err})
			progress(e, "refused: "+err.Error())
		case err != nil:
			return report, fmt.Errorf("bundle of %s: %w", e.Finding, err)
		default:
			report.Sent = append(report.Sent, e)
			progress(e, "sent")
		}
	}
	return report, nil
}

func send(ctx context.Context, from, to index.Corpus, e index.Entry, policy Policy, report *Report) error {
	if err := policy.Check(ctx, from, e); err != nil {
		return err
	}
	var digests []corpus.Digest
	for _, b := range e.Blobs() {
		digests = append(digests, b.Digest)
	}
	missing, err := to.Missing(ctx, digests)
	if err != nil {
		return err
	}
	for _, d := range missing {
		r, _, err := from.Open(ctx, d)
		if err != nil {
			return err
		}
		_, size, err := to.Put(ctx, r, d)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
		report.Blobs++
		report.Bytes += size
	}
	return to.Add(ctx, e)
}

// Check reads an entry's blobs from a corpus and compares them with the entry and the policy. The error is an *index.RefusedError
// when the entry is at fault, not the corpus.
func (policy Policy) Check(ctx context.Context, from corpus.Source, e index.Entry) error {
	var signature []byte
	var err error
	if d := e.Signature.Digest; !d.IsZero() {
		if signature, err = corpus.ReadAll(ctx, from, d, bundle.MaxSignature); err != nil {
			return refusedBlob(err)
		}
	}
	if policy.Signers != nil && len(signature) == 0 {
		return &index.RefusedError{Err: bundle.ErrUnsigned}
	}
	content, _, err := from.Open(ctx, e.Bundle.Digest)
	if err != nil {
		return refusedBlob(err)
	}
	defer content.Close()
	file, err := os.CreateTemp("", "misstep-bundle-*")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	size, err := io.Copy(file, content)
	if err != nil {
		return refusedBlob(err)
	}
	b, err := bundle.Read(file, size)
	if err != nil {
		return &index.RefusedError{Err: err}
	}
	if shared := sharedBlobs(b); !slices.Equal(shared, e.Shared) {
		return &index.RefusedError{Err: fmt.Errorf(
			"the entry names %d shared files, the bundle names %d or different ones", len(e.Shared), len(shared))}
	}
	if id := b.WrittenAs(); id != e.Finding || size != e.Bundle.Size {
		return &index.RefusedError{
			Err: fmt.Errorf("the entry says finding %s and %d bytes, the bundle has finding %.64q and %d bytes",
				e.Finding, e.Bundle.Size, id, size),
		}
	}
	if policy.Signers == nil {
		return nil
	}
	if _, err := policy.Signers.Verify(io.NewSectionReader(file, 0, size), signature); err != nil {
		return &index.RefusedError{Err: err}
	}
	return nil
}

// refusedBlob makes the error of a blob that is absent or damaged a *index.RefusedError, so that the other entries are still sent.
func refusedBlob(err error) error {
	if errors.Is(err, corpus.ErrNotFound) || errors.Is(err, corpus.ErrTooLarge) || errors.As(err, new(*corpus.MismatchError)) {
		return &index.RefusedError{Err: err}
	}
	return err
}

// Import adds a bundle's file, with the signature beside it, to a corpus. It returns the entry and whether it is new there.
func Import(ctx context.Context, to index.Corpus, file string, policy Policy) (index.Entry, bool, error) {
	b, err := bundle.Open(file)
	if err != nil {
		return index.Entry{}, false, err
	}
	defer b.Close()
	id := b.WrittenAs()
	if !index.ValidFinding(id) {
		return index.Entry{}, false, fmt.Errorf("import %s: finding %.40q: expected an id such as F598b0c04d78c", file, id)
	}
	signature, err := bundle.ReadSignature(file)
	if err != nil {
		return index.Entry{}, false, err
	}
	f, err := os.Open(file)
	if err != nil {
		return index.Entry{}, false, fmt.Errorf("import bundle: %w", err)
	}
	defer f.Close()
	if policy.Signers != nil {
		if _, err := policy.Signers.Verify(f, signature); err != nil {
			return index.Entry{}, false, fmt.Errorf("import %s: %w", file, err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return index.Entry{}, false, fmt.Errorf("import %s: %w", file, err)
		}
	}
	e := index.Entry{Finding: id, Shared: sharedBlobs(b)}
	if err := b.CopyShared(ctx, to); err != nil {
		return index.Entry{}, false, fmt.Errorf("import %s: %w", file, err)
	}
	if e.Bundle.Digest, e.Bundle.Size, err = to.Put(ctx, f, corpus.Digest{}); err != nil {
		return index.Entry{}, false, err
	}
	if len(signature) > 0 {
		if e.Signature.Digest, e.Signature.Size, err = to.Put(ctx, bytes.NewReader(signature), corpus.Digest{}); err != nil {
			return index.Entry{}, false, err
		}
	}
	entries, err := to.Entries(ctx)
	if err != nil {
		return index.Entry{}, false, err
	}
	if slices.ContainsFunc(entries, func(other index.Entry) bool { return other.Digest() == e.Digest() }) {
		return e, false, nil
	}
	return e, true, to.Add(ctx, e)
}

// sharedBlobs returns a bundle's shared files as an entry names them.
func sharedBlobs(b *bundle.Bundle) []index.Blob {
	var blobs []index.Blob
	for _, f := range b.Shared() {
		blobs = append(blobs, index.Blob{Digest: f.Digest, Size: f.Size})
	}
	slices.SortFunc(blobs, func(a, b index.Blob) int { return strings.Compare(a.Digest.Hex(), b.Digest.Hex()) })
	return slices.Compact(blobs)
}
