// Command dist packs what make has built as a release: an archive, a Debian package, an image, each with licences, a list of parts
// (CycloneDX) and checksums. The same commit gives the same bytes. It is a module of its own, so that misstep does not depend on
// what packs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// release is what is packed.
type release struct {
	// Version such as 0.1.0.
	Version string
	// Time of the commit: that of every file.
	Time time.Time
	// Root of the sources, Build of what was built, Out of what is packed.
	Root, Build, Out string
	// Binary is misstep, without paths of this machine in it.
	Binary string
	// Maven is a file with the coordinates of all Maven parts, one per line, as dependency:list prints them.
	Maven string
	// Repository is Maven's local one, from which their licences are read.
	Repository string
	// Base of the image: the root of a file system as tar; empty for none.
	Base string
	// Quick writes the archive and its checksum only, for tests: without licences, less compressed.
	Quick bool
	// Key signs the checksums; empty for none.
	Key string
}

func (r release) name() string { return "misstep-" + r.Version + "-linux-amd64" }

// folder is what the archive unpacks to.
func (r release) folder() string { return filepath.Join(r.Out, r.name()) }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var r release
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.StringVar(&r.Version, "version", "", "version of the release")
	epoch := flags.String("time", "", "time of every file, in seconds since 1970")
	flags.StringVar(&r.Root, "root", "../..", "folder of the sources")
	flags.StringVar(&r.Out, "out", "", "folder of what is packed (default: build/dist of the sources)")
	check := flags.Bool("check", false, "only say whether the version can be packed")
	flags.BoolVar(&r.Quick, "quick", false, "pack an archive without licences, for tests")
	flags.StringVar(&r.Binary, "binary", "", "the program misstep")
	flags.StringVar(&r.Maven, "maven", "", "file that dependency:list wrote")
	flags.StringVar(&r.Repository, "repository", os.ExpandEnv("$HOME/.m2/repository"), "Maven's local repository")
	flags.StringVar(&r.Base, "base", "", "root of a file system as tar, below the image")
	flags.StringVar(&r.Key, "key", "", "SSH private key that signs the checksums")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.Root, err = filepath.Abs(r.Root); err != nil {
		return err
	}
	if *check {
		return r.ready(os.Stderr)
	}
	seconds, err := strconv.ParseInt(*epoch, 10, 64)
	if err != nil || r.Version == "" || r.Binary == "" {
		return errors.New("give -version, -time and -binary; make dist does")
	}
	r.Time = time.Unix(seconds, 0).UTC()
	r.Build = filepath.Join(r.Root, "build")
	if r.Out == "" {
		r.Out = filepath.Join(r.Build, "dist")
	}
	return r.pack()
}

// pack makes everything, the folder first.
func (r release) pack() error {
	for _, step := range []struct {
		name  string
		do    func() error
		quick bool // made for tests, too
	}{
		{"folder", r.stage, true},
		{"licences and parts", r.account, false},
		{"manual and completions", r.manual, true},
		{"checksums", func() error { return sums(r.folder(), "SHA256SUMS") }, true},
		{"archive", r.archive, true},
		{"Debian package", r.debian, false},
		{"image", r.image, false},
		{"checksums of the packages", r.seal, true},
	} {
		if r.Quick && !step.quick {
			continue
		}
		fmt.Fprintln(os.Stderr, "dist:", step.name)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
