package main

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// part is something of others in a release.
type part struct {
	// Name and Version: of a Go module, or group:artifact of a Maven part.
	Name, Version string
	// PURL is its package URL (github.com/package-url/purl-spec).
	PURL string
	// Licence as its author names it, and where that is; empty for a Go module, whose texts say it.
	Licence, URL string
	// Texts are its licence files, in the folder licences of the release.
	Texts []string
}

// asyncProfiler is what deploy/setup/profilers.sh fetches.
var asyncProfiler = regexp.MustCompile(`(?m)^version=(\S+)$`)

// account writes the licences of all parts, the list of them for people (PARTS.txt) and for programs (CycloneDX).
func (r release) account() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	maven, err := r.mavenParts()
	if err != nil {
		return err
	}
	all := append(modules, maven...)
	err = write(filepath.Join(r.folder(), "licences", "PARTS.txt"), func(w io.Writer) error { return list(w, all) })
	if err != nil {
		return err
	}
	return write(filepath.Join(r.folder(), "misstep.cdx.json"), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(r.bom(all))
	})
}

// list writes a table of the parts.
func list(w io.Writer, all []part) error {
	_, err := fmt.Fprintf(w, "Parts of misstep by others. The texts of their licences are in this folder.\n"+
		"libmisstep.so also has the libraries of GCC (libstdc++, libgcc; GPL-3.0 with the GCC Runtime Library Exception).\n"+
		"The sources of Maven parts are in Maven's central repository, beside their jars.\n\n")
	for _, p := range all {
		licence := strings.TrimPrefix(p.Licence+"; "+strings.Join(p.Texts, ", "), "; ")
		_, printErr := fmt.Fprintf(w, "%s %s\n    %s\n", p.Name, p.Version, licence)
		err = errors.Join(err, printErr)
	}
	return err
}

// bom is the list of parts in CycloneDX, without a serial number and with the commit's time: the same each time.
func (r release) bom(all []part) *cdx.BOM {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.Time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{BOMRef: "misstep", Type: cdx.ComponentTypeApplication, Name: "misstep", Version: r.Version},
	}
	components := []cdx.Component{}
	refs := []string{}
	for _, p := range all {
		c := cdx.Component{BOMRef: p.PURL, Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, PackageURL: p.PURL}
		if group, name, ok := strings.Cut(p.Name, ":"); ok {
			c.Group, c.Name = group, name
		}
		if p.Licence != "" {
			c.Licenses = &cdx.Licenses{{License: &cdx.License{Name: p.Licence, URL: p.URL}}}
		}
		components, refs = append(components, c), append(refs, p.PURL)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "misstep", Dependencies: &refs}}
	return bom
}

var licenceFile = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents)([-._].*)?$`)

// modules are the Go modules of which the program is built, and Go itself; their licence files are copied.
func (r release) modules() ([]part, error) {
	info, err := buildinfo.ReadFile(r.Binary)
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	goroot, cache, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	version := strings.TrimPrefix(info.GoVersion, "go")
	all := []part{{Name: "Go standard library", Version: version, PURL: "pkg:golang/std@" + version}}
	dirs := []string{goroot}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, part{Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version})
		dirs = append(dirs, filepath.Join(cache, escaped(m.Path)+"@"+escaped(m.Version)))
	}
	for i := range all {
		p := &all[i]
		if p.Texts, err = r.copyLicences(dirs[i], filepath.Join("go", p.Name+"@"+p.Version)); err != nil {
			return nil, err
		}
		if len(p.Texts) == 0 {
			return nil, fmt.Errorf("%s %s has no licence file in %s", p.Name, p.Version, dirs[i])
		}
	}
	return all, nil
}

// escaped is a module path as a folder of the module cache: a capital letter is "!" and the small one.
func escaped(path string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
}

// copyLicences copies the licence files of a folder into a folder of licences, and returns their paths there.
func (r release) copyLicences(dir, below string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text := filepath.Join(below, e.Name())
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			err = r.writeLicence(text, content)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (r release) writeLicence(text string, content []byte) error {
	file := filepath.Join(r.folder(), "licences", text)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// coordinates is a line of dependency:list: group:artifact:jar:version:scope.
var coordinates = regexp.MustCompile(`(?m)^\s+([\w.-]+):([\w.-]+):jar:([\w.-]+):(?:compile|runtime)\b`)

// artifact is a Maven part by its coordinates.
type artifact struct{ group, name, version string }

// file is a file of the artifact in Maven's local repository, with that ending.
func (r release) file(a artifact, ending string) string {
	return filepath.Join(r.Repository, strings.ReplaceAll(a.group, ".", "/"), a.name, a.version, a.name+"-"+a.version+ending)
}

// mavenParts are the Maven parts of agent, workloads and reader of recordings, and async-profiler.
func (r release) mavenParts() ([]part, error) {
	artifacts, err := r.packed()
	if err != nil {
		return nil, err
	}
	libraries, err := r.libraries()
	if err != nil {
		return nil, err
	}
	var all []part
	for _, a := range append(artifacts, libraries...) {
		p := part{
			Name: a.group + ":" + a.name, Version: a.version, PURL: "pkg:maven/" + a.group + "/" + a.name + "@" + a.version,
		}
		if slices.ContainsFunc(all, func(other part) bool { return other.PURL == p.PURL }) {
			continue
		}
		if p.Licence, p.URL, err = r.pomLicence(a, 0); err != nil {
			return nil, err
		}
		if p.Texts, err = r.jarLicences(r.file(a, ".jar"), filepath.Join("maven", a.name+"-"+a.version)); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	profiler, err := r.profiler()
	if err != nil {
		return nil, err
	}
	all = append(all, profiler)
	for i := range all {
		if err := r.addOwnText(&all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.PURL, b.PURL) })
	return all, nil
}

// packed are the artifacts inside of the jars of agent and reader of recordings.
func (r release) packed() ([]artifact, error) {
	text, err := os.ReadFile(r.Maven)
	if err != nil {
		return nil, err
	}
	var all []artifact
	for _, m := range coordinates.FindAllStringSubmatch(string(text), -1) {
		all = append(all, artifact{m[1], m[2], m[3]})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s lists no part", r.Maven)
	}
	return all, nil
}

// profiler is async-profiler, of which only the library is kept: its licence is stated here.
func (r release) profiler() (part, error) {
	script, err := os.ReadFile(filepath.Join(r.Root, "deploy", "setup", "profilers.sh"))
	if err != nil {
		return part{}, err
	}
	version := asyncProfiler.FindSubmatch(script)
	if version == nil {
		return part{}, errors.New("deploy/setup/profilers.sh does not say version=…")
	}
	return part{
		Name: "tools.profiler:async-profiler", Version: string(version[1]),
		PURL:    "pkg:maven/tools.profiler/async-profiler@" + string(version[1]),
		Licence: "Apache License Version 2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0",
	}, nil
}

// libraries are the artifacts whose jars the workloads have, with classes or sources, found by their names in Maven's local
// repository.
func (r release) libraries() ([]artifact, error) {
	wanted := map[string]bool{} // NAME-VERSION
	err := filepath.WalkDir(filepath.Join(r.folder(), "workloads"), func(file string, _ os.DirEntry, err error) error {
		name, isJar := strings.CutSuffix(filepath.Base(file), ".jar")
		if err == nil && isJar && !strings.HasPrefix(name, "misstep-") && name != "harness-1" {
			wanted[strings.TrimSuffix(name, "-sources")] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []artifact
	err = filepath.WalkDir(r.Repository, func(file string, _ os.DirEntry, err error) error {
		name, isPom := strings.CutSuffix(filepath.Base(file), ".pom")
		if err != nil || !isPom || !wanted[name] {
			return err
		}
		below, err := filepath.Rel(r.Repository, filepath.Dir(file))
		if err != nil {
			return err
		}
		folders := strings.Split(below, string(filepath.Separator)) // group's folders, artifact, version
		if n := len(folders); n > 2 {
			delete(wanted, name)
			all = append(all, artifact{strings.Join(folders[:n-2], "."), folders[n-2], folders[n-1]})
		}
		return nil
	})
	if err == nil && len(wanted) > 0 {
		err = fmt.Errorf("the workloads have jars that are not in %s: %v", r.Repository, slices.Sorted(maps.Keys(wanted)))
	}
	return all, err
}

// commonLicences is where Debian has the texts that many packages share (base-files).
const commonLicences = "/usr/share/common-licenses"

// addOwnText gives a part without a licence file that of deploy/dist/licences, or of Debian's common ones.
func (r release) addOwnText(p *part) error {
	if len(p.Texts) > 0 {
		return nil
	}
	own := ownText(*p)
	if own == "" {
		return fmt.Errorf("%s %s (%s) has no licence text: put it into deploy/dist/licences and name it in account.go",
			p.Name, p.Version, p.Licence)
	}
	content, err := os.ReadFile(filepath.Join(r.Root, "deploy", "dist", "licences", own))
	if errors.Is(err, os.ErrNotExist) {
		content, err = os.ReadFile(filepath.Join(commonLicences, strings.TrimSuffix(own, ".txt")))
	}
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", p.Name, err)
	}
	p.Texts = []string{own}
	return r.writeLicence(own, content)
}

// ownTexts are the files for parts whose jars have no text, by the beginnings of the parts' names. H2 has
// two licences to choose from, MPL and EPL.
var ownTexts = []struct{ prefix, file string }{
	{"org.ow2.asm:", "asm.txt"},
	{"org.scala-lang.modules:scala-asm", "asm.txt"}, // a copy of ASM in packages of its own
	{"org.jline:", "jline.txt"},
	{"com.h2database:h2", "MPL-2.0.txt"},
}

func ownText(p part) string {
	for _, t := range ownTexts {
		if strings.HasPrefix(p.Name, t.prefix) {
			return t.file
		}
	}
	if strings.Contains(p.Licence, "Apache") {
		return "Apache-2.0.txt"
	}
	return ""
}

// jarLicences copies the licence files of a jar, from its root and META-INF.
func (r release) jarLicences(jar, below string) (texts []string, err error) {
	z, err := zip.OpenReader(jar)
	if errors.Is(err, os.ErrNotExist) { // only its sources are here
		z, err = zip.OpenReader(strings.TrimSuffix(jar, ".jar") + "-sources.jar")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jar, err)
	}
	defer z.Close()
	for _, f := range z.File {
		name := strings.TrimPrefix(f.Name, "META-INF/")
		if strings.Contains(name, "/") || !licenceFile.MatchString(name) {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err == nil {
			err = r.writeLicence(filepath.Join(below, name), content)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, filepath.Join(below, name))
	}
	return texts, nil
}

// pom is what a project's file says of its licence.
type pom struct {
	Licences []struct {
		Name string `xml:"name"`
		URL  string `xml:"url"`
	} `xml:"licenses>license"`
	Parent struct {
		Group    string `xml:"groupId"`
		Artifact string `xml:"artifactId"`
		Version  string `xml:"version"`
	} `xml:"parent"`
}

// maxParents bounds how far a licence is inherited.
const maxParents = 8

// pomLicence is the licence that a project's file names, or its parents'; empty if none does.
func (r release) pomLicence(a artifact, depth int) (name, url string, err error) {
	file := r.file(a, ".pom")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	var p pom
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // US-ASCII, in some
	if err := d.Decode(&p); err != nil {
		return "", "", fmt.Errorf("%s: %w", file, err)
	}
	if len(p.Licences) == 0 && p.Parent.Artifact != "" && depth < maxParents {
		return r.pomLicence(artifact{p.Parent.Group, p.Parent.Artifact, p.Parent.Version}, depth+1)
	}
	var names, urls []string
	for _, l := range p.Licences {
		names, urls = append(names, strings.TrimSpace(l.Name)), append(urls, strings.TrimSpace(l.URL))
	}
	return strings.Join(names, " or "), strings.Join(urls, " "), nil
}
