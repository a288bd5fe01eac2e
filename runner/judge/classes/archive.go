package classes

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// mostNested is the size of an archive within an archive that is unpacked into memory, where it is not stored as it is.
	mostNested = 256 << 20
	// jmodHeader stands before the archive in a JMOD (jdk.internal.jmod.JmodFile): JM, major and minor version.
	jmodMagic  = "JM"
	jmodHeader = 4
)

// prefixes are the folders in an archive that have classes: those of jar files, JMODs, web applications and Spring Boot's archives.
var prefixes = []string{"", "classes/", "WEB-INF/classes/", "BOOT-INF/classes/"}

// releases is the folder of classes for later releases (JEP 238).
const releases = "META-INF/versions/"

// archive has the class files of an archive by the class.
type archive map[string][]*zip.File

// openArchive opens a jar file or the like, and the archives in it.
func (p *Path) openArchive(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	p.files = append(p.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := p.addArchive(file, info.Size(), true); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (p *Path) addArchive(file io.ReaderAt, size int64, outer bool) error {
	head := make([]byte, jmodHeader)
	if n, _ := file.ReadAt(head, 0); n == jmodHeader && string(head[:len(jmodMagic)]) == jmodMagic {
		file, size = io.NewSectionReader(file, jmodHeader, size-jmodHeader), size-jmodHeader
	}
	z, err := zip.NewReader(file, size)
	if err != nil {
		return err
	}
	a := archive{}
	p.places = append(p.places, a)
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, ".class"):
			a.add(f)
		case outer && path.Ext(f.Name) == ".jar":
			if err := p.addNested(file, f); err != nil {
				return fmt.Errorf("%s in it: %w", f.Name, err)
			}
		}
	}
	return nil
}

// addNested opens an archive within an archive, which web applications and Spring Boot have.
func (p *Path) addNested(outer io.ReaderAt, f *zip.File) error {
	if f.Method == zip.Store {
		if offset, err := f.DataOffset(); err == nil {
			size := int64(f.UncompressedSize64)
			return p.addArchive(io.NewSectionReader(outer, offset, size), size, false)
		}
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, mostNested+1))
	if err != nil {
		return err
	}
	if len(data) > mostNested {
		return fmt.Errorf("unpacked it has more than %d bytes: unpack it and give its file as class path", mostNested)
	}
	return p.addArchive(bytes.NewReader(data), int64(len(data)), false)
}

func (a archive) add(f *zip.File) {
	name := strings.TrimSuffix(f.Name, ".class")
	if rest, versioned := strings.CutPrefix(name, releases); versioned {
		_, class, _ := strings.Cut(rest, "/")
		a[class] = append(a[class], f)
		return
	}
	for _, prefix := range slices.Backward(prefixes) {
		if class, has := strings.CutPrefix(name, prefix); has {
			a[class] = append(a[class], f)
			return
		}
	}
}

func (a archive) class(name string) ([][]byte, error) {
	var all [][]byte
	for _, f := range a[name] {
		r, err := f.Open()
		if err != nil {
			return all, err
		}
		data, err := readClass(r)
		if err = cmp.Or(err, r.Close()); err != nil {
			return all, err
		}
		all = append(all, data)
	}
	return all, nil
}
