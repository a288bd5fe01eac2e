package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/klauspost/compress/gzip"
)

// shells are those with completions, by the file that the shell's own packages look for.
var shells = map[string]string{"bash": "misstep.bash", "zsh": "_misstep", "fish": "misstep.fish"}

// manual writes the manual page, of the reference that is made of the command line itself, and the completions of shells.
func (r release) manual() error {
	page, err := r.page()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.folder(), "share"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.folder(), "share", "misstep.1"), page, 0o644); err != nil {
		return err
	}
	for shell, file := range shells {
		text, err := exec.Command(r.Binary, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("misstep completion %s: %w", shell, err)
		}
		text = []byte(anywhere(string(text), r.Binary))
		if err := os.WriteFile(filepath.Join(r.folder(), "share", file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// anywhere is the code of a completion for misstep on the PATH.
func anywhere(text, binary string) string { return strings.ReplaceAll(text, binary, "misstep") }

var (
	generated = regexp.MustCompile(`(?s)<!--.*?-->\n*`)
	link      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// page is docs/reference/cli.md and exit-codes.md as a manual page.
func (r release) page() ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "misstep 1 %q %q\n====\n\n# NAME\n\nmisstep - hunt bugs of the JVM's stack walkers\n\n",
		r.Time.Format("2006-01-02"), "misstep "+r.Version)
	for _, name := range []string{"cli.md", "exit-codes.md"} {
		page, err := os.ReadFile(filepath.Join(r.Root, "docs", "reference", name))
		if err != nil {
			return nil, err
		}
		text.WriteString(link.ReplaceAllString(generated.ReplaceAllString(string(page), ""), "$1") + "\n")
	}
	return md2man.Render(text.Bytes()), nil
}

// gzipped is a file as Debian has its manual pages: without name and time.
func gzipped(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		return z.Close()
	})
}
