package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"

	"misstep/app/bundles"
	"misstep/app/sharing"
	"misstep/bundle/share"
	"misstep/corpus/index"
)

type corpusCommand struct {
	Push   corpusPush   `cmd:"" help:"Send bundles that another corpus lacks."`
	Pull   corpusPull   `cmd:"" help:"Fetch bundles that this corpus lacks."`
	Import corpusImport `cmd:"" help:"Add bundle files to the corpus, with the signatures beside them."`
	Export corpusExport `cmd:"" help:"Write the corpus's bundles as files without overwriting any; their shared files go into the folder shared beside them."`
	List   corpusList   `cmd:"" default:"withargs" help:"List the corpus's bundles."`
	GC     corpusGC     `cmd:"" name:"gc" help:"Remove blobs that no bundle, finding or trial refers to."`
}

// corpusFlags choose the corpus that a command works on, or takes shared files of a bundle from.
type corpusFlags struct {
	tlsFlags
	Corpus string `help:"Corpus: ${location} (default: folder corpus below --home)." env:"MISSTEP_CORPUS" placeholder:"LOCATION"`
}

func (f corpusFlags) open(ctx context.Context, e *env) (index.Corpus, func(), error) {
	return sharing.Open(ctx, f.location(e))
}

func (f corpusFlags) location(e *env) sharing.Location {
	return f.at(e, cmp.Or(f.Corpus, filepath.Join(e.installation().Home, "corpus")))
}

func (f corpusFlags) at(e *env, location string) sharing.Location {
	return sharing.Location{Text: location, Dial: func() ([]grpc.DialOption, error) { return f.dial(e.warnings()) }}
}

type corpusPush struct {
	corpusFlags
	trustFlags
	To   string `arg:"" help:"Corpus to send to: ${location}." placeholder:"LOCATION"`
	JSON bool   `help:"Print {sent, present, refused, blobs, bytes}."`
}

// Run sends.
func (c *corpusPush) Run(ctx context.Context, e *env) error {
	return withPeer(ctx, e, c.corpusFlags, c.To, func(own, peer index.Corpus) error {
		return synchronise(ctx, e, own, peer, c.trustFlags, c.JSON)
	})
}

type corpusPull struct {
	corpusFlags
	trustFlags
	From string `arg:"" help:"Corpus to fetch from: ${location}." placeholder:"LOCATION"`
	JSON bool   `help:"Print {sent, present, refused, blobs, bytes}."`
}

// Run fetches.
func (c *corpusPull) Run(ctx context.Context, e *env) error {
	if !strings.Contains(c.From, "://") { // a folder: opening would create it
		if _, err := os.Stat(c.From); err != nil {
			return fmt.Errorf("corpus %s: %w", c.From, err)
		}
	}
	return withPeer(ctx, e, c.corpusFlags, c.From, func(own, peer index.Corpus) error {
		return synchronise(ctx, e, peer, own, c.trustFlags, c.JSON)
	})
}

// withPeer opens both ends of a transfer for transfer.
func withPeer(ctx context.Context, e *env, own corpusFlags, location string, transfer func(own, peer index.Corpus) error) error {
	c, done, err := own.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	peer, done, err := sharing.Open(ctx, own.at(e, location))
	if err != nil {
		return err
	}
	defer done()
	return transfer(c, peer)
}

// synchronise sends the bundles that one corpus has and the other lacks.
func synchronise(ctx context.Context, e *env, from, to index.Corpus, trust trustFlags, asJSON bool) error {
	policy, err := bundles.Policy(trust.Signers)
	if err != nil {
		return err
	}
	report, err := share.Sync(ctx, from, to, policy, func(entry index.Entry, what string) {
		e.say("%s (%d bytes): %s", entry.Finding, entry.Bundle.Size, what)
	})
	if err != nil {
		return fmt.Errorf("%w; what has arrived is kept, run the same command again to resume", err)
	}
	if asJSON {
		refused := map[string]string{}
		for _, r := range report.Refused {
			refused[r.Entry.Bundle.Digest.String()] = r.Err.Error()
		}
		err = e.json(struct {
			Sent    int               `json:"sent"`
			Present int               `json:"present"`
			Refused map[string]string `json:"refused"` // reason by bundle
			Blobs   int               `json:"blobs"`
			Bytes   int64             `json:"bytes"`
		}{len(report.Sent), len(report.Present), refused, report.Blobs, report.Bytes})
	} else {
		_, err = fmt.Fprintf(e.stdout, "%d bundles sent (%d blobs, %d bytes), %d already there, %d refused\n",
			len(report.Sent), report.Blobs, report.Bytes, len(report.Present), len(report.Refused))
	}
	if err == nil && len(report.Refused) > 0 {
		err = &exitError{code: exitFound}
	}
	return err
}

type corpusImport struct {
	corpusFlags
	trustFlags
	Bundles []string `arg:"" help:"Bundles of findings." type:"path" placeholder:"BUNDLE"`
}

// Run imports.
func (c *corpusImport) Run(ctx context.Context, e *env) error {
	own, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	policy, err := bundles.Policy(c.Signers)
	if err != nil {
		return err
	}
	var failures []error // of one bundle: the others are imported nevertheless
	for _, path := range c.Bundles {
		entry, added, err := share.Import(ctx, own, path, policy)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s is not imported: %w", path, err))
			continue
		}
		what, signed := "already there", "signed"
		if added {
			what = "added"
		}
		if entry.Signature.Digest.IsZero() {
			signed = "not signed"
		}
		fmt.Fprintf(e.stdout, "%s %s: %s, %s\n", entry.Finding, entry.Bundle.Digest, what, signed)
	}
	return errors.Join(failures...)
}

type corpusList struct {
	corpusFlags
	JSON bool `help:"Print a list of {finding, bundle, size, signature}."`
}

// corpusEntry is an entry of the index in JSON.
type corpusEntry struct {
	Finding   string `json:"finding"`
	Bundle    string `json:"bundle"`
	Size      int64  `json:"size"`
	Signature string `json:"signature"`
}

// Run lists.
func (c *corpusList) Run(ctx context.Context, e *env) error {
	own, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	entries, err := sharing.Entries(ctx, own)
	if err != nil {
		return err
	}
	if c.JSON {
		all := []corpusEntry{}
		for _, entry := range entries {
			all = append(all, corpusEntry{
				entry.Finding, entry.Bundle.Digest.String(), entry.Bundle.Size, entry.Signature.Digest.String(),
			})
		}
		return e.json(all)
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "finding\tbytes\tbundle\tsigned")
	for _, entry := range entries {
		signed := "yes"
		if entry.Signature.Digest.IsZero() {
			signed = "no"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", entry.Finding, entry.Bundle.Size, entry.Bundle.Digest, signed)
	}
	return t.Flush()
}

type corpusExport struct {
	corpusFlags
	Dir      string   `arg:"" help:"Folder to write to." type:"path" placeholder:"DIR"`
	Findings []string `arg:"" optional:"" help:"Ids of findings or prefixes of them (default: all)." placeholder:"FINDING"`
}

// Run exports.
func (c *corpusExport) Run(ctx context.Context, e *env) error {
	own, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	return sharing.Export(ctx, own, c.Dir, c.Findings, func(path string) { fmt.Fprintln(e.stdout, path) })
}
