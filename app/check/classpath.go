package check

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"misstep/bundle"
)

// launch is what a command line of java starts.
type launch struct {
	jar       string // of -jar, else empty
	main      string // class
	classpath []string
	flags     []string // the JVM's other options
	arguments []string
}

// launchOf reads the arguments of java. classpath is the variable CLASSPATH.
func launchOf(args []string, classpath string) (l launch, err error) {
	if classpath == "" {
		classpath = "."
	}
	flags, rest := splitFlags(args)
	for _, f := range flags {
		switch name, value, _ := strings.Cut(f, "="); name {
		case "-cp", "-classpath", "--class-path":
			classpath = value
		case "-p":
			l.flags = append(l.flags, "--module-path="+value)
		default:
			l.flags = append(l.flags, f)
		}
	}
	byFile := func(a string) bool { return strings.HasPrefix(a, "@") }
	byModule := func(f string) bool { return strings.HasPrefix(f, "--module=") || strings.HasPrefix(f, "--source=") }
	switch {
	case slices.ContainsFunc(args[:len(args)-len(rest)], byFile) || slices.ContainsFunc(flags, byModule) || len(rest) == 0 ||
		rest[0] == "-m" || rest[0] == "--module" || strings.HasSuffix(rest[0], ".java") || rest[0] == "-jar" && len(rest) == 1:
		return l, errors.New("--bundle: a bundle repeats programs that are started by -jar, or by -cp and a main class, without " +
			"a file of arguments: give such a command, or leave --bundle out")
	case rest[0] == "-jar":
		l.jar, l.classpath, l.arguments = rest[1], rest[1:2], rest[2:]
		manifest, err := jarManifest(l.jar)
		if err != nil {
			return l, err
		}
		if l.main = manifest["Main-Class"]; l.main == "" {
			return l, fmt.Errorf("--bundle: %s has no Main-Class in its manifest", l.jar)
		}
	default:
		l.main, l.classpath, l.arguments = strings.ReplaceAll(rest[0], "/", "."), strings.Split(classpath, ":"), rest[1:]
	}
	return l, nil
}

// classFile is a file of a class path, and its place in a bundle's workload.
type classFile struct {
	from, to string
	size     int64
}

// classFiles lists files until they are larger than a limit, or more than a bundle can hold.
type classFiles struct {
	limit int64
	files []classFile
	total int64
}

// classFilesOf lists the files of a program's class path, at most limit bytes, and the class path that they make in a bundle: each
// entry has a folder of its own there, and those that a jar's manifest names are beside that jar.
func classFilesOf(l launch, limit int64) (files []classFile, classpath []string, err error) {
	all := &classFiles{limit: limit}
	for _, entry := range expanded(l.classpath) {
		info, err := os.Stat(entry)
		if errors.Is(err, fs.ErrNotExist) {
			continue // as the JVM does
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--with-classpath: %w", err)
		}
		to := path.Join("program", strconv.Itoa(len(classpath)))
		before := len(all.files)
		if info.IsDir() {
			err = all.folder(entry, to)
		} else {
			to = path.Join(to, filepath.Base(entry))
			err = all.jar(entry, to)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--with-classpath: %w", err)
		}
		if len(all.files) > before { // a bundle has no empty folders
			classpath = append(classpath, to)
		}
	}
	if len(classpath) == 0 {
		return nil, nil, fmt.Errorf("--with-classpath: nothing of the class path %s exists", strings.Join(l.classpath, ":"))
	}
	return all.files, classpath, nil
}

// expanded replaces the entries DIR/* of a class path by the jars of that folder, and empty ones by the working folder (java(1)).
func expanded(classpath []string) (entries []string) {
	for _, entry := range classpath {
		folder, every := strings.CutSuffix(entry, "*")
		if entry == "" {
			entry = "."
		}
		if !every || folder != "" && !strings.HasSuffix(folder, "/") {
			entries = append(entries, entry)
			continue
		}
		files, _ := os.ReadDir(cmp.Or(folder, ".")) // a folder that is not there has none
		for _, f := range files {
			if strings.EqualFold(filepath.Ext(f.Name()), ".jar") {
				entries = append(entries, filepath.Join(folder, f.Name()))
			}
		}
	}
	return entries
}

func (c *classFiles) add(from, to string) error {
	info, err := os.Stat(from) // a link's target: a bundle has no links
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: a bundle cannot hold it", from)
	}
	c.files = append(c.files, classFile{from, to, info.Size()})
	c.total += info.Size()
	const others = 1000 // files of a bundle besides
	switch {
	case c.total > c.limit:
		return fmt.Errorf("the class path has more than %s: name less, or a larger --bundle-limit",
			humanize.IBytes(uint64(c.limit)))
	case len(c.files) > bundle.MaxEntries-others:
		return fmt.Errorf("the class path has more than %d files, which is more than a bundle can hold: put them into a jar",
			bundle.MaxEntries-others)
	}
	return nil
}

func (c *classFiles) folder(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		return c.add(name, path.Join(to, filepath.ToSlash(relative)))
	})
}

// jar adds a jar, and what the Class-Path of its manifest names and exists.
func (c *classFiles) jar(from, to string) error {
	if slices.ContainsFunc(c.files, func(f classFile) bool { return f.to == to }) {
		return nil
	}
	if err := c.add(from, to); err != nil {
		return err
	}
	manifest, err := jarManifest(from)
	if err != nil {
		return nil // no jar: the JVM ignores it
	}
	for word := range strings.FieldsSeq(manifest["Class-Path"]) {
		u, err := url.Parse(word)
		if err != nil {
			continue
		}
		place := filepath.Join(filepath.Dir(from), u.Path)
		if u.Scheme != "" || path.IsAbs(u.Path) {
			place = u.Path
		}
		info, err := os.Stat(place)
		switch {
		case err != nil: // as the JVM does
			continue
		case place == u.Path || !filepath.IsLocal(u.Path):
			return fmt.Errorf("the manifest of %s names %s, outside of its folder: name that in -cp, too, and leave it out there",
				from, word)
		case info.IsDir():
			err = c.folder(place, path.Join(path.Dir(to), u.Path))
		default:
			err = c.jar(place, path.Join(path.Dir(to), u.Path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const maxManifest = 1 << 20 // bytes

var (
	continued = regexp.MustCompile(`\r?\n `)
	attribute = regexp.MustCompile(`(?m)^([A-Za-z0-9_-]+): (.*?)\r?$`)
)

// jarManifest returns the main attributes of a jar.
func jarManifest(name string) (map[string]string, error) {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, fmt.Errorf("read the jar %s: %w", name, err)
	}
	defer archive.Close()
	file, err := archive.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return nil, fmt.Errorf("read the jar %s: %w", name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", name, err)
	}
	main, _, _ := strings.Cut(strings.ReplaceAll(string(continued.ReplaceAll(text, nil)), "\r\n", "\n"), "\n\n")
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(main, -1) {
		all[m[1]] = m[2]
	}
	return all, nil
}

// copyFiles copies files to their places below a folder.
func copyFiles(files []classFile, dir string) error {
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.to))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("copy the class path: %w", err)
		}
		data, err := os.ReadFile(f.from)
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("copy the class path: %w", err)
		}
	}
	return nil
}
