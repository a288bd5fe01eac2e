package fleet

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"misstep/app/local"
	"misstep/deploy/nomad"
	"misstep/internal/atomicfile"
)

// source is a file, or a folder of files, that goes into a package under a name.
type source struct{ path, name string }

// sources lists what a node needs: this program, the agent, and what reads and makes recordings if this machine has it.
func sources(i local.Installation) ([]source, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	agent, err := i.Agent()
	if err != nil {
		return nil, err
	}
	all := []source{{program, "misstep"}, {filepath.Dir(agent.Library), "agent"}}
	if jar := i.RecordingJar(); jar != "" {
		all = append(all, source{filepath.Dir(jar), "recording"})
	}
	if dir := i.Profilers(); dir != "" {
		all = append(all, source{dir, "profilers"})
	}
	return all, nil
}

// Pack writes the package of an installation, a compressed tar file, and returns its digest. Equal installations give equal bytes.
func Pack(i local.Installation, w io.Writer) (digest string, err error) {
	all, err := sources(i)
	if err != nil {
		return "", err
	}
	return pack(all, w)
}

func pack(all []source, w io.Writer) (digest string, err error) {
	sum := sha256.New()
	compressed, err := gzip.NewWriterLevel(io.MultiWriter(w, sum), gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	out := tar.NewWriter(compressed)
	for _, s := range all {
		if err := add(out, s); err != nil {
			return "", fmt.Errorf("pack %s: %w", s.path, err)
		}
	}
	if err := out.Close(); err != nil {
		return "", err
	}
	if err := compressed.Close(); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// add adds a file, or the files of a folder in the order of their names. Times and owners are left out, hidden files are, too.
func add(out *tar.Writer, s source) error {
	root, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		relative, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		f, err := os.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		header := &tar.Header{
			Name: path.Join(s.name, filepath.ToSlash(relative)), Size: info.Size(), Mode: mode, ModTime: time.Unix(0, 0),
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err = io.Copy(out, f)
		return err
	})
}

// WritePackage writes the package into a folder, under the name that jobs expect, and returns its digest.
func WritePackage(i local.Installation, dir string) (digest string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of packages: %w", err)
	}
	part := filepath.Join(dir, ".package")
	err = atomicfile.WriteWith(part, func(w io.Writer) error {
		digest, err = Pack(i, w)
		return err
	})
	if err != nil {
		return "", err
	}
	defer os.Remove(part) // renamed by then unless that fails
	if err := os.Chmod(part, 0o644); err != nil {
		return "", err
	}
	return digest, os.Rename(part, filepath.Join(dir, nomad.PackageName(digest)))
}
