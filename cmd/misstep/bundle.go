package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"misstep/app/bundles"
	"misstep/bundle"
	"misstep/corpus"
	"misstep/internal/suggest"
)

type bundleCommand struct {
	Verify bundleVerify `cmd:"" help:"Check every byte of a bundle."`
	Show   bundleShow   `cmd:"" help:"Print a bundle's README, or one of its files."`
	Diff   bundleDiff   `cmd:"" help:"Compare two bundles: recipe, signature, stacks, rates, JDKs, files."`
	Sign   bundleSign   `cmd:"" help:"Sign a bundle with an SSH key; the signature is written beside it."`
	Unpack bundleUnpack `cmd:"" help:"Verify a bundle and unpack it into a new folder."`
}

type bundleVerify struct {
	trustFlags
	corpusFlags
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
}

// Run verifies. Shared files that are missing or damaged make it fail after the bundle's own result is printed.
func (c *bundleVerify) Run(ctx context.Context, e *env) error {
	b, err := bundles.Open(ctx, e.installation(), c.Bundle, c.location(e))
	if err != nil {
		return err
	}
	defer b.Close()
	signed, err := bundles.Check(c.Bundle, c.Signers)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(e.stdout, "%s: %d files, all intact: %s\n%s\n",
		c.Bundle, len(b.Files()), b.Reproducer().GetFinding().GetTitle(), signed); err != nil {
		return err
	}
	return verifyShared(ctx, e.stdout, b.Bundle)
}

// verifyShared prints of each shared file whether it is there and intact, and returns what is wrong.
func verifyShared(ctx context.Context, w io.Writer, b *bundle.Bundle) error {
	var failures error
	for _, f := range b.Shared() {
		state := "intact"
		err := b.VerifyShared(ctx, f)
		switch {
		case errors.Is(err, corpus.ErrNotFound):
			state = "missing"
		case err != nil:
			state, err = "damaged", fmt.Errorf("shared file %s: %w", f.Path, err)
		}
		failures = errors.Join(failures, err)
		if from := b.Place(ctx, f); from != "" {
			state += ", from " + from
		}
		if _, err := fmt.Fprintf(w, "shared file %s (%d bytes, %s): %s\n", f.Path, f.Size, f.Digest, state); err != nil {
			return err
		}
	}
	return failures
}

// sayShared says what belongs to a bundle that was written and lies beside it.
func (e *env) sayShared(path string) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	var bytes int64
	for _, f := range b.Shared() {
		bytes += f.Size
	}
	if bytes > 0 {
		e.say("%d bytes of its workload are in %s: pass that folder on with the bundle, or write one file with --embed",
			bytes, filepath.Join(filepath.Dir(path), bundle.SharedDir))
	}
	return b.Close()
}

type bundleShow struct {
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	File   string `arg:"" optional:"" help:"File inside it; \"list\" lists them." default:"README.md"`
}

// Run prints a file of a bundle.
func (c *bundleShow) Run(e *env) error {
	b, err := bundle.Open(c.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	if c.File == "list" {
		t := table(e.stdout)
		for _, f := range b.Files() {
			fmt.Fprintf(t, "%d\t%s\n", f.Size, f.Path)
		}
		for _, f := range b.Shared() {
			fmt.Fprintf(t, "%d\t%s (shared)\n", f.Size, f.Path)
		}
		return t.Flush()
	}
	text, err := b.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		meant := ""
		var names []string
		for _, f := range b.Files() {
			names = append(names, f.Path)
		}
		if near := suggest.Nearest(c.File, names); near != "" {
			meant = ", did you mean " + near + "?"
		}
		return fmt.Errorf("%s has no file %s%s (`misstep bundle show %s list` lists them)", c.Bundle, suggest.Quote(c.File),
			meant, c.Bundle)
	}
	if err != nil {
		return err
	}
	to := e.stdout
	if c.File != "README.md" { // which is for people; the others are also for programs
		to = contents(e.stdout)
	}
	_, err = to.Write(text)
	return err
}

type bundleUnpack struct {
	corpusFlags
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	Dir    string `arg:"" help:"Folder to create; it must not exist." type:"path" placeholder:"DIR"`
}

// Run unpacks.
func (c *bundleUnpack) Run(ctx context.Context, e *env) error {
	b, err := bundles.Open(ctx, e.installation(), c.Bundle, c.location(e))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Extract(c.Dir); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%s: repeat it with %s /path/to/jdk\n", c.Dir, filepath.Join(c.Dir, "run.sh"))
	return err
}

type bundleSign struct {
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	Key    string `help:"Private key as ssh-keygen writes it, without a passphrase." required:"" env:"MISSTEP_SIGNING_KEY" type:"path" placeholder:"FILE"`
}

// Run writes the signature beside the bundle.
func (c *bundleSign) Run(e *env) error {
	b, err := bundle.Open(c.Bundle) // only an intact bundle is signed
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	if err := bundles.Sign(c.Bundle, c.Key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, c.Bundle+bundle.SignatureSuffix)
	return err
}
