package classes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Path is where class files are looked for. It is used by one goroutine.
type Path struct {
	places []place
	files  []io.Closer
	known  map[string][]*Class
	// Errors are those about class files that were found and could not be read, the first ones.
	Errors []error
}

// place is a folder, an archive or an image. class returns all files of a class: an archive of several releases may have some.
type place interface {
	class(name string) ([][]byte, error)
}

const mostErrors = 20

// Open returns the path of a program's class path, with the separator of the platform and with * for all archives of a folder, and
// of a JDK; both may be empty. An error names the entry that cannot be read.
func Open(classPath, jdk string) (*Path, error) {
	p := &Path{known: map[string][]*Class{}}
	err := p.openAll(classPath, jdk)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close closes the archives.
func (p *Path) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Empty reports whether there is no place at all.
func (p *Path) Empty() bool { return len(p.places) == 0 }

func (p *Path) openAll(classPath, jdk string) error {
	for _, entry := range filepath.SplitList(classPath) {
		if entry == "" {
			continue
		}
		if err := p.open(entry); err != nil {
			return fmt.Errorf("class path: %w", err)
		}
	}
	if jdk == "" {
		return nil
	}
	if err := p.openJDK(jdk); err != nil {
		return fmt.Errorf("JDK %s: %w", jdk, err)
	}
	return nil
}

func (p *Path) open(entry string) error {
	if dir, all := strings.CutSuffix(entry, "*"); all && (dir == "" || os.IsPathSeparator(dir[len(dir)-1])) {
		if dir == "" {
			dir = "."
		}
		return p.openArchives(dir)
	}
	info, err := os.Stat(entry)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		p.places = append(p.places, folder(entry))
		return nil
	}
	return p.openArchive(entry)
}

// openArchives opens the archives of a folder in the order of their names.
func (p *Path) openArchives(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isArchive(e.Name()) && !e.IsDir() {
			if err := p.openArchive(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func isArchive(name string) bool {
	return slices.Contains([]string{".jar", ".zip", ".jmod", ".war"}, strings.ToLower(filepath.Ext(name)))
}

// openJDK opens the image of a JDK of 9 or later, or the archives of JDK 8.
func (p *Path) openJDK(home string) error {
	file, err := os.Open(filepath.Join(home, "lib", "modules"))
	if err == nil {
		p.files = append(p.files, file)
		m, err := openImage(file)
		if err != nil {
			return fmt.Errorf("lib/modules: %w", err)
		}
		p.places = append(p.places, m)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{filepath.Join(home, "jre", "lib"), filepath.Join(home, "lib")} {
		if _, err := os.Stat(filepath.Join(dir, "rt.jar")); err != nil {
			continue
		}
		if err := p.openArchives(dir); err != nil {
			return err
		}
		if err := p.openArchives(filepath.Join(dir, "ext")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return errors.New("it has neither lib/modules nor jre/lib/rt.jar: give the folder that JAVA_HOME would name")
}

// Find returns all classes of a name, with dots or slashes, in the order of the path; none if there is none. A class path may have
// more than one, and more than one may have run.
func (p *Path) Find(name string) []*Class {
	name = strings.ReplaceAll(name, ".", "/")
	if found, known := p.known[name]; known {
		return found
	}
	var found []*Class
	if validName(name) {
		for _, place := range p.places {
			files, err := place.class(name)
			if err != nil {
				p.fail(fmt.Errorf("class %s: %w", name, err))
			}
			for _, data := range files {
				c, err := Parse(data)
				if err == nil && c.Name != name {
					err = fmt.Errorf("%w of this class: it is %s's", ErrClass, c.Name)
				}
				if err != nil {
					p.fail(fmt.Errorf("class %s: %w", name, err))
					continue
				}
				found = append(found, c)
			}
		}
	}
	p.known[name] = found
	return found
}

// validName reports whether a recording's name of a class can be that of a file: it is not to lead elsewhere.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\x00\\;[")
}

func (p *Path) fail(err error) {
	if len(p.Errors) < mostErrors {
		p.Errors = append(p.Errors, err)
	}
}

// folder has the class files of a folder.
type folder string

func (f folder) class(name string) ([][]byte, error) {
	file, err := os.Open(filepath.Join(string(f), filepath.FromSlash(name)+".class"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := readClass(file)
	return [][]byte{data}, err
}

// readClass reads a class file, whose size is bounded.
func readClass(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxClassBytes+1))
	if err == nil && len(data) > maxClassBytes {
		err = fmt.Errorf("it has more than %d bytes", maxClassBytes)
	}
	return data, err
}
