package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/deploy/vm/wire"
)

// collect sends the evidence: the files of the evidence folder under their names in it, and the job's other paths under their
// absolute names without the leading slash.
func collect(job wire.Job, port *port) error {
	left := job.MaxEvidence
	if err := collectTree(port, evidencePath, "", &left); err != nil {
		return err
	}
	for _, root := range job.Evidence {
		if !filepath.IsAbs(root) {
			root = filepath.Join(job.Dir, root)
		}
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
			port.note("no evidence at %s", root)
			continue
		}
		if err := collectTree(port, root, strings.TrimPrefix(root, "/"), &left); err != nil {
			return err
		}
	}
	return nil
}

// collectTree sends the regular files at and below root. Links are not followed: they could lead anywhere.
func collectTree(port *port, root, prefix string, left *int64) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			port.note("evidence %s: %v", path, err)
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("evidence %s: %w", path, err)
		}
		return sendFile(port, path, filepath.Join(prefix, rel), left)
	})
}

func sendFile(port *port, path, name string, left *int64) error {
	file, err := os.Open(path)
	if err != nil {
		port.note("evidence %s: %v", path, err)
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		port.note("evidence %s: %v", path, err)
		return nil
	}
	if info.Size() > *left {
		port.note("evidence %s of %d bytes is left out: only %d more bytes are allowed", path, info.Size(), *left)
		return nil
	}
	header := wire.FileHeader{Name: name, Mode: uint32(info.Mode().Perm()), Size: info.Size()}
	if err := port.send(wire.KindFile, wire.Encode(header)); err != nil {
		return err
	}
	buf := make([]byte, wire.MaxPayload)
	for from := io.LimitReader(file, *left); ; {
		n, err := from.Read(buf)
		if n > 0 {
			*left -= int64(n)
			if err := port.send(wire.KindData, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			port.note("evidence %s is truncated: %v", path, err)
			break
		}
	}
	return port.send(wire.KindFileEnd, nil)
}
