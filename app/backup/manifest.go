package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"misstep/corpus"
)

const (
	// manifestName in a backup's folder lists what it consists of. It is written last: without it there is no backup.
	manifestName = "backup.txt"
	manifestLine = "misstep-backup 1"
)

// manifest is what a backup consists of.
type manifest struct {
	// store is the digest of the file with the rows.
	store corpus.Digest
	// bucket is the location of the bucket with the blobs, which stay there; empty when they are in the backup's folder.
	bucket string
	// blobs are the digests of the blobs.
	blobs []corpus.Digest
}

// storeName is the file with the rows. A later backup into the same folder has another one, so that the earlier stays whole until
// its manifest is replaced.
func storeName(d corpus.Digest) string { return "store-" + d.Hex()[:16] + ".db" }

func (m manifest) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nstore %s\n", manifestLine, m.store)
	if m.bucket != "" {
		fmt.Fprintf(&b, "bucket %s\n", m.bucket)
	}
	for _, d := range m.blobs {
		fmt.Fprintf(&b, "blob %s\n", d)
	}
	// The last line tells a whole manifest from a part of one.
	fmt.Fprintf(&b, "end %d\n", len(m.blobs))
	return b.Bytes()
}

// readManifest reads the manifest of a backup in a folder.
func readManifest(dir string) (m manifest, err error) {
	path := filepath.Join(dir, manifestName)
	file, err := os.Open(path)
	if err != nil {
		return m, fmt.Errorf("%s has no whole backup: %w", dir, err)
	}
	defer file.Close()
	if m, err = parseManifest(file); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func parseManifest(r io.Reader) (m manifest, err error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != manifestLine {
		return m, fmt.Errorf("does not begin with %q: not a backup of this version of misstep", manifestLine)
	}
	for lines.Scan() {
		kind, value, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "store":
			m.store, err = corpus.ParseDigest(value)
		case "bucket":
			m.bucket = value
		case "blob":
			var d corpus.Digest
			d, err = corpus.ParseDigest(value)
			m.blobs = append(m.blobs, d)
		case "end":
			if value != strconv.Itoa(len(m.blobs)) || m.store.IsZero() || lines.Scan() {
				return m, errors.New("damaged: it does not have as many lines as it says")
			}
			return m, nil
		default:
			err = fmt.Errorf("line %.80q is unknown", lines.Text())
		}
		if err != nil {
			return m, err
		}
	}
	return m, errors.Join(lines.Err(), errors.New("damaged: its end is missing"))
}
