package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/bundle"
	"misstep/corpus/localdir"
	"misstep/corpus/remote"
	"misstep/bundle/share"
)

type corpusCommand struct {
	Push   corpusPush   `cmd:"" help:"Send bundles that another corpus lacks."`
	Pull   corpusPull   `cmd:"" help:"Fetch bundles that this corpus lacks."`
	Import corpusImport `cmd:"" help:"Put bundle files into the corpus, with the signatures beside them."`
	Export corpusExport `cmd:"" help:"Write the corpus's bundles as files; nothing is overwritten."`
	List   corpusList   `cmd:"" default:"withargs" help:"List the corpus's bundles."`
	GC     corpusGC     `cmd:"" name:"gc" help:"Remove blobs of a folder that no bundle, finding or trial refers to."`
}

const locationHelp = "a folder, grpc://HOST:PORT, or s3://BUCKET/PREFIX?endpoint=URL"

// own is the corpus that a command works on.
type own struct {
	Corpus string `help:"Corpus: a folder, grpc://HOST:PORT, or s3://BUCKET/PREFIX?endpoint=URL (default: folder corpus below --home)." env:"MISSTEP_CORPUS" placeholder:"WHERE"`
}

func (o own) open(ctx context.Context, e *env) (share.Corpus, func(), error) {
	return openCorpus(ctx, cmp.Or(o.Corpus, filepath.Join(e.home(), "corpus")))
}

// openCorpus connects to the corpus at a location.
func openCorpus(ctx context.Context, location string) (share.Corpus, func(), error) {
	c, done, err := locate(ctx, location)
	if err != nil {
		return share.Corpus{}, nil, fmt.Errorf("corpus %s: %w", location, err)
	}
	return c, done, nil
}

func locate(ctx context.Context, location string) (share.Corpus, func(), error) {
	scheme, _, found := strings.Cut(location, "://")
	if !found {
		if stores.InFolder(location) == nil {
			location = filepath.Join(location, "blobs") // the folder of a hunt or coordinator
		}
		store, err := localdir.New(location)
		if err != nil {
			return share.Corpus{}, nil, err
		}
		return share.Corpus{Store: store, Index: share.Folder(location)}, func() {}, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return share.Corpus{}, nil, err
	}
	switch {
	case scheme == "grpc" && u.Host != "":
		connection, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()), messages)
		if err != nil {
			return share.Corpus{}, nil, err
		}
		return share.Corpus{Store: remote.Client(connection), Index: remote.Index(connection)}, func() { _ = connection.Close() }, nil
	case scheme == "s3" && u.Host != "":
		endpoint := cmp.Or(u.Query().Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
		store, err := blob.Open(ctx, u.Host, u.Path, blob.Options{Endpoint: endpoint, Region: cmp.Or(u.Query().Get("region"), os.Getenv("AWS_REGION"))})
		if err != nil {
			return share.Corpus{}, nil, err
		}
		return share.Corpus{Store: store, Index: share.Objects(store)}, func() {}, nil
	}
	return share.Corpus{}, nil, errors.New("want " + locationHelp)
}

type corpusPush struct {
	own
	trust
	To   string `arg:"" help:"Corpus to send to: a folder, grpc://HOST:PORT, or s3://BUCKET/PREFIX?endpoint=URL." placeholder:"WHERE"`
	JSON bool   `help:"Print {sent, present, refused, blobs, bytes}."`
}

// Run sends.
func (c *corpusPush) Run(ctx context.Context, e *env) error {
	return e.withTheirs(ctx, c.own, c.To, func(ours, theirs share.Corpus) error { return e.syncCorpora(ctx, ours, theirs, c.trust, c.JSON) })
}

type corpusPull struct {
	own
	trust
	From string `arg:"" help:"Corpus to fetch from: a folder, grpc://HOST:PORT, or s3://BUCKET/PREFIX?endpoint=URL." placeholder:"WHERE"`
	JSON bool   `help:"Print {sent, present, refused, blobs, bytes}."`
}

// Run fetches.
func (c *corpusPull) Run(ctx context.Context, e *env) error {
	return e.withTheirs(ctx, c.own, c.From, func(ours, theirs share.Corpus) error { return e.syncCorpora(ctx, theirs, ours, c.trust, c.JSON) })
}

// withTheirs opens both ends of a transfer for f.
func (e *env) withTheirs(ctx context.Context, own own, where string, f func(ours, theirs share.Corpus) error) error {
	ours, done, err := own.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	theirs, done, err := openCorpus(ctx, where)
	if err != nil {
		return err
	}
	defer done()
	return f(ours, theirs)
}

// syncCorpora: exit 0 all bundles are there now, 1 some were refused.
func (e *env) syncCorpora(ctx context.Context, from, to share.Corpus, t trust, asJSON bool) error {
	policy, err := t.policy()
	if err != nil {
		return err
	}
	report, err := share.Sync(ctx, from, to, policy, func(entry share.Entry, what string) {
		fmt.Fprintf(e.stderr, "%s (%d bytes): %s\n", entry.Finding, entry.Bundle.Size, what)
	})
	if err != nil {
		return fmt.Errorf("%w; what has arrived stays, so the same command goes on from here", err)
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
		_, err = fmt.Fprintf(e.stdout, "%d bundles sent (%d blobs, %d bytes), %d were there, %d refused\n", len(report.Sent), report.Blobs, report.Bytes,
			len(report.Present), len(report.Refused))
	}
	if err == nil && len(report.Refused) > 0 {
		err = &exitError{code: exitFound}
	}
	return err
}

type corpusImport struct {
	own
	trust
	Bundles []string `arg:"" help:"Bundles of findings." type:"path" placeholder:"BUNDLE"`
}

// Run imports.
func (c *corpusImport) Run(ctx context.Context, e *env) error {
	ours, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	policy, err := c.policy()
	if err != nil {
		return err
	}
	for _, path := range c.Bundles {
		entry, added, err := share.Import(ctx, ours, path, policy)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "%s %s: %s, %s\n", entry.Finding, entry.Bundle.Digest, map[bool]string{true: "added", false: "was there"}[added],
			map[bool]string{true: "not signed", false: "signed"}[entry.Signature.Digest.IsZero()])
	}
	return nil
}

type corpusList struct {
	own
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
	ours, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	entries, err := sortedEntries(ctx, ours)
	if err != nil {
		return err
	}
	if c.JSON {
		all := []corpusEntry{}
		for _, entry := range entries {
			all = append(all, corpusEntry{entry.Finding, entry.Bundle.Digest.String(), entry.Bundle.Size, entry.Signature.Digest.String()})
		}
		return e.json(all)
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "finding\tbytes\tbundle\tsigned")
	for _, entry := range entries {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", entry.Finding, entry.Bundle.Size, entry.Bundle.Digest, map[bool]string{true: "no", false: "yes"}[entry.Signature.Digest.IsZero()])
	}
	return t.Flush()
}

func sortedEntries(ctx context.Context, index share.Index) ([]share.Entry, error) {
	entries, err := index.Entries(ctx)
	slices.SortFunc(entries, func(a, b share.Entry) int { return strings.Compare(string(a.Text()), string(b.Text())) })
	return entries, err
}

type corpusExport struct {
	own
	Dir      string   `arg:"" help:"Folder to write to." type:"path" placeholder:"DIR"`
	Findings []string `arg:"" optional:"" help:"Ids of findings, or the starts of them; none are all." placeholder:"FINDING"`
}

// Run exports.
func (c *corpusExport) Run(ctx context.Context, e *env) error {
	ours, done, err := c.open(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	entries, err := sortedEntries(ctx, ours)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	found := 0
	for _, entry := range entries {
		wanted := len(c.Findings) == 0 || slices.ContainsFunc(c.Findings, func(id string) bool { return strings.HasPrefix(entry.Finding, id) })
		if !wanted {
			continue
		}
		found++
		// One finding may have several bundles: the digest tells them apart.
		name := filepath.Join(c.Dir, entry.Finding+"-"+entry.Bundle.Digest.Hex()[:12]+".zip")
		if err := exportBlob(ctx, ours, entry.Bundle, name); err != nil {
			return err
		}
		if !entry.Signature.Digest.IsZero() {
			if err := exportBlob(ctx, ours, entry.Signature, name+bundle.SignatureSuffix); err != nil {
				return err
			}
		}
		fmt.Fprintln(e.stdout, name)
	}
	if found == 0 {
		return errors.New("the corpus has no such bundle; misstep corpus list shows what it has")
	}
	return nil
}

// exportBlob writes a blob to a new file; a file that is there must hold the same bytes.
func exportBlob(ctx context.Context, from corpus.Source, b share.Blob, path string) error {
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		if _, _, err := corpus.Receive(ctx, io.Discard, f, b.Digest, 0); err != nil {
			return fmt.Errorf("%s is there and holds something else: move it away: %w", path, err)
		}
		return nil
	}
	r, _, err := from.Open(ctx, b.Digest)
	if err != nil {
		return err
	}
	defer r.Close()
	return writeFile(path, r)
}
