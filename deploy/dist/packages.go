package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// placed are the places of a release's files in a Debian package: what is not named is in /usr/lib/misstep, where misstep looks.
var placed = []struct{ from, to string }{
	{"misstep", "/usr/bin/misstep"},
	{"agent", "/usr/lib/misstep/agent"},
	{"profilers", "/usr/lib/misstep/profilers"},
	{"recording", "/usr/lib/misstep/recording"},
	{"workloads", "/usr/lib/misstep/workloads"},
	{"licences", "/usr/share/doc/misstep/licences"},
	{"CHANGELOG.md", "/usr/share/doc/misstep/CHANGELOG.md"},
	{licence, "/usr/share/doc/misstep/copyright"},
	{"misstep.cdx.json", "/usr/share/doc/misstep/misstep.cdx.json"},
	{"share/misstep.bash", "/usr/share/bash-completion/completions/misstep"},
	{"share/_misstep", "/usr/share/zsh/vendor-completions/_misstep"},
	{"share/misstep.fish", "/usr/share/fish/vendor_completions.d/misstep.fish"},
}

// debian writes the Debian package.
func (r release) debian() error {
	contents, err := r.contents()
	if err != nil {
		return err
	}
	manual := filepath.Join(r.Out, "misstep.1.gz")
	if err := gzipped(filepath.Join(r.folder(), "share", "misstep.1"), manual); err != nil {
		return err
	}
	defer os.Remove(manual)
	contents = append(contents, r.content(manual, "/usr/share/man/man1/misstep.1.gz", 0o644))
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "misstep", Arch: "amd64", Version: r.Version, Section: "devel", Priority: "optional", MTime: r.Time,
		Maintainer: "The authors of Misstep <misstep@localhost>", DisableGlobbing: true,
		Description: "hunts bugs of the JVM's stack walkers\n" +
			"Runs Java programs with an agent that observes each stack in two ways.",
		Overridables: nfpm.Overridables{
			Contents: contents, Depends: []string{fmt.Sprintf("libc6 (>= 2.%d)", newestGlibc)},
			Suggests: []string{"openjdk-21-jdk-headless | java-sdk-headless", "gdb"},
			Deb:      nfpm.Deb{Compression: "gzip"},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	return write(filepath.Join(r.Out, "misstep_"+r.Version+"_amd64.deb"), func(w io.Writer) error {
		return deb.Default.Package(info, w)
	})
}

// contents are the files of the package.
func (r release) contents() (files.Contents, error) {
	var all files.Contents
	for _, p := range placed {
		root := filepath.Join(r.folder(), p.from)
		err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
			if p.from == licence && errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			below, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all = append(all, r.content(file, filepath.Join(p.to, below), mode(info.Mode())))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r release) content(from, to string, m os.FileMode) *files.Content {
	return &files.Content{
		Source: from, Destination: to, Type: files.TypeFile,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: m, MTime: r.Time},
	}
}

// image writes an OCI image as docker load and podman load read it: the release in /opt/misstep, above the base. Without a base it
// has neither a C library nor a JDK: enough for a coordinator, not for trials.
func (r release) image() error {
	image := empty.Image
	if r.Base != "" {
		layer, err := tarball.LayerFromFile(r.Base)
		if err != nil {
			return fmt.Errorf("base: %w", err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return err
		}
	}
	var content bytes.Buffer
	if err := writeTar(&content, r.folder(), "opt/misstep", r.Time); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	})
	if err != nil {
		return err
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = "amd64", "linux", v1.Time{Time: r.Time}
	config.Config = v1.Config{
		Entrypoint: []string{"/opt/misstep/misstep"}, Cmd: []string{"--help"}, WorkingDir: "/data", User: "65534:65534",
		Env: []string{
			"PATH=/opt/misstep:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "MISSTEP_HOME=/data/home",
		},
		Labels: map[string]string{"org.opencontainers.image.title": "misstep", "org.opencontainers.image.version": r.Version},
		Volumes: map[string]struct{}{
			"/data": {},
		},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag("misstep:" + r.Version)
	if err != nil {
		return err
	}
	return write(filepath.Join(r.Out, "misstep-"+r.Version+"-image.tar"), func(w io.Writer) error {
		return tarball.Write(tag, image, w)
	})
}

// namespace keeps a signature of something else from being taken for one of a release.
const namespace = "misstep-release"

// seal writes the checksums of what users download, and signs them if a key is given. To verify:
//
//	ssh-keygen -Y verify -f ALLOWED_SIGNERS -I NAME -n misstep-release -s SHA256SUMS.sig <SHA256SUMS
func (r release) seal() error {
	var text bytes.Buffer
	files := []string{r.name() + ".tar.gz", "misstep_" + r.Version + "_amd64.deb", "misstep-" + r.Version + "-image.tar"}
	if r.Quick {
		files = files[:1]
	}
	for _, file := range files {
		digest, err := digestOf(filepath.Join(r.Out, file))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", digest, file)
	}
	list := filepath.Join(r.Out, "SHA256SUMS")
	if err := os.Remove(list + ".sig"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(list, text.Bytes(), 0o644); err != nil || r.Key == "" {
		return err
	}
	signature, err := sign(text.Bytes(), r.Key)
	if err != nil {
		return err
	}
	return os.WriteFile(list+".sig", signature, 0o644)
}

// sign is the detached signature of some bytes by an SSH key.
func sign(text []byte, file string) ([]byte, error) {
	private, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", file, err)
	}
	signature, err := sshsig.Sign(bytes.NewReader(text), key, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(signature), nil
}
