package jdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"misstep/internal/atomicfile"
)

// aptDatesFile is the file beside the JDKs that has the date of the newest state seen of each suite of each archive.
const aptDatesFile = ".apt-dates"

// maxReleaseHead bounds what is read of a Release file for its date, which comes before its digests.
const maxReleaseHead = 64 << 10

// checkDates refuses package lists that are older than those of an earlier import: a signature stays valid for ever, and only some
// suites say until when a state is (Valid-Until, which apt checks), so a mirror could show old packages with known holes as the
// newest. apt compares dates only with lists that it has, and each import begins without.
func (a *apt) checkDates(ctx context.Context, file string) error {
	unlock, err := lockFile(ctx, file+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	newest := map[string]time.Time{}
	switch text, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &newest); err != nil {
			return fmt.Errorf("read the dates of package lists: %s: %w; remove the file to begin anew", file, err)
		}
	}
	lists, err := filepath.Glob(filepath.Join(a.dir, "state/lists/*Release"))
	if err != nil {
		return err
	}
	for _, list := range lists {
		at, err := releaseDate(list)
		if err != nil {
			return fmt.Errorf("suite %q: %w", a.suite, err)
		}
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(list), "Release"), "In")
		if before := newest[name]; at.Before(before) {
			return fmt.Errorf("suite %q: the archive shows its state of %s, and showed that of %s before: its mirror is behind, "+
				"or somebody replays old packages; try again later or another mirror, or remove %s to accept it", a.suite,
				at.Format(time.RFC1123), before.Format(time.RFC1123), file)
		}
		newest[name] = at
	}
	text, err := json.MarshalIndent(newest, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(text, '\n'), 0o644)
}

// releaseDate returns the field Date of a Release or InRelease file.
func releaseDate(file string) (time.Time, error) {
	f, err := os.Open(file)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxReleaseHead))
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(head)) {
		if text, ok := strings.CutPrefix(line, "Date:"); ok {
			if at, err := mail.ParseDate(strings.TrimSpace(text)); err == nil {
				return at.UTC(), nil
			}
		}
	}
	return time.Time{}, errors.New("its Release file has no date that can be read")
}
