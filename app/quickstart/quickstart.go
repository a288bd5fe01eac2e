// Package quickstart prepares a first hunt on a machine as it is: it catalogues the JDKs that are installed and writes a campaign.
package quickstart

import (
	"context"
	_ "embed" // what follows the names in the campaign
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"misstep/app"
	"misstep/app/local"
	"misstep/catalogue"
	"misstep/coordinator/campaign"
	"misstep/deploy/jdk"
	"misstep/internal/atomicfile"
)

//go:embed campaign.yaml
var rest string

// Name of the campaign.
const Name = "quickstart"

// Prepare returns a campaign file in folder dir on at most most JDKs: those that found names, one of each feature version in their
// order, or those of the catalogue where none of them starts. A JDK that does not start is reported and left out.
func Prepare(
	ctx context.Context, i local.Installation, found []jdk.Installed, most int, dir string, say app.Say,
) (file string, err error) {
	if err := os.MkdirAll(i.Home, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the catalogues: %w; MISSTEP_HOME=FOLDER chooses another", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the hunt: %w; --dir FOLDER chooses another", err)
	}
	names, err := choose(ctx, i, found, most, say)
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "campaign.yaml")
	text := fmt.Sprintf("# Written by misstep quickstart; to hunt longer: misstep hunt %s --dir %s --for 10m\n"+
		"name: %s\njdks: [%s]\n%s", file, dir, Name, strings.Join(names, ", "), rest)
	if err := whole(i, text, file); err != nil {
		return "", err
	}
	if err := atomicfile.Write(file, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write the campaign: %w", err)
	}
	return file, nil
}

// whole reports a workload of the campaign that the release lacks, as one does whose archive was cut off.
func whole(i local.Installation, text, file string) error {
	document, err := campaign.Parse([]byte(text), file)
	if err != nil {
		return err
	}
	for _, w := range document.Campaign.GetWorkloads() {
		_, err := i.Workloads().Get(w.GetName())
		if errors.Is(err, catalogue.ErrUnknown) {
			err = fmt.Errorf("workload %q is missing", w.GetName())
		}
		if err != nil {
			return fmt.Errorf("this release is not whole: %w; unpack its archive again, and check it with `sha256sum --check "+
				"SHA256SUMS` in its folder (built from sources: `make catalogue`)", err)
		}
	}
	return nil
}

func choose(ctx context.Context, i local.Installation, found []jdk.Installed, most int, say app.Say) ([]string, error) {
	entries, err := i.JDKs().List()
	if err != nil {
		return nil, err
	}
	var names, left []string
	var features []int
	for _, j := range found {
		if len(names) == most || slices.Contains(features, j.Feature) {
			left = append(left, j.Home)
			continue
		}
		say("JDK %s", j.Home)
		entry, err := add(ctx, i.JDKs(), entries, j)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			say("misstep: left out: %s", app.Message(err))
		case !slices.Contains(names, entry.Name):
			names, features = append(names, entry.Name), append(features, j.Feature)
		}
	}
	if len(left) > 0 && len(names) > 0 {
		say("not in this hunt: %s", strings.Join(left, ", "))
	}
	if len(names) == 0 {
		for _, e := range entries[:min(most, len(entries))] {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no JDK of 8 or later that starts, neither in JAVA_HOME, on the PATH, in /usr/lib/jvm, /usr/java, " +
			"/opt, ~/.sdkman, ~/.jdks, nor in the catalogue; install one, or name the folder of one: JAVA_HOME=FOLDER misstep " +
			"quickstart")
	}
	return names, nil
}

// add catalogues an installed JDK under the name jdkN, or jdkN-2 and so on where that is another build's.
func add(ctx context.Context, jdks *jdk.Catalogue, entries []jdk.Entry, j jdk.Installed) (jdk.Entry, error) {
	for _, e := range entries {
		if e.Source == j.Home || e.Path == j.Home {
			return jdks.Get(e.Name)
		}
	}
	feature := j.Feature
	if feature == 0 {
		inspected, err := jdk.Inspect(ctx, j.Home)
		if err != nil {
			return jdk.Entry{}, err
		}
		feature = inspected.Feature
	}
	name := fmt.Sprintf("jdk%d", feature)
	for n := 2; slices.ContainsFunc(entries, func(e jdk.Entry) bool { return e.Name == name }); n++ {
		name = fmt.Sprintf("jdk%d-%d", feature, n)
	}
	return jdks.Add(ctx, name, j.Home, jdk.AddOptions{})
}
