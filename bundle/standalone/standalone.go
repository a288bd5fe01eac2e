// Package standalone writes a self-contained test of a finding: one Java file, one C++ file, a script. It runs no code of Misstep.
//
// It supports the families of gst-asgct whose place a few lines of Java reach: methods that the VM calls when compiled code
// initialises, loads or links something, and virtual threads that are resumed at depth. If a finding needs its workload, Generate
// returns an error instead of a test that would pass everywhere.
package standalone

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

//go:embed *.tmpl families/*.tmpl native/libWalkerTest.cpp
var texts embed.FS

// File is one file of the test.
type File struct {
	// Name without a folder.
	Name       string
	Text       []byte
	Executable bool
}

// UnservedError is why a finding has no standalone test.
type UnservedError struct{ Why string }

// Error returns the reason.
func (e *UnservedError) Error() string { return e.Why }

// family is how the place of a finding is reached.
type family struct {
	template   string // below families/
	what       string // completes "differ in …"
	breakAt    string // class/Name.method at whose start the library compares; empty if the Java file calls compare() itself
	minFeature int
}

const natives = "java/lang/invoke/MethodHandleNatives."

// families by the place of a gst-asgct signature. Upcalls without an entry cannot be triggered by Java source alone: javac emits no
// dynamic constants (linkDynamicConstant), and transform needs an instrumentation agent.
var families = map[signature.Place]family{
	upcall("<clinit>"):     {template: "clinit", what: "a class initialiser"},
	upcall("loadClass"):    {template: "loadClass", what: "loadClass"},
	upcall("linkCallSite"): {template: "lambda", what: "linkCallSite", breakAt: natives + "linkCallSite"},
	upcall("linkMethodHandleConstant"): {
		template: "lambda", what: "linkMethodHandleConstant", breakAt: natives + "linkMethodHandleConstant",
	},
	upcall("findMethodHandleType"): {template: "lambda", what: "findMethodHandleType", breakAt: natives + "findMethodHandleType"},
	upcall("linkMethod"):           {template: "linkMethod", what: "linkMethod", breakAt: natives + "linkMethod"},
	upcall("register"):             {template: "register", what: "Finalizer.register", breakAt: "java/lang/ref/Finalizer.register"},
	{Kind: signature.Continuation}: {template: "continuation", what: "a resumed virtual thread", minFeature: 21},
}

func upcall(method string) signature.Place {
	return signature.Place{Kind: signature.Upcall, Method: method}
}

type data struct {
	Bug, Summary, Finding, What, Break, Method string
	Flags                                      []string
	MinFeature                                 int
}

// Generate returns the test of a finding that was made with the JVM flags. The error is an *UnservedError when there is none.
func Generate(f *misstepv1.Finding, flags []string) ([]File, error) {
	kin, err := familyOf(f.GetSignature())
	if err != nil {
		return nil, err
	}
	d := data{
		Bug: Bug(f.GetKnownAs()), Finding: word(f.GetId()), What: kin.what, Break: kin.breakAt, Method: path.Ext(kin.breakAt),
		Summary: "AsyncGetCallTrace and GetStackTrace give the same frames in " + kin.what,
		Flags:   compileFlags(flags), MinFeature: kin.minFeature,
	}
	d.Method = strings.TrimPrefix(d.Method, ".")
	java, err := render(d, "WalkerTest.java.tmpl", "families/"+kin.template+".java.tmpl")
	if err != nil {
		return nil, err
	}
	script, err := render(d, "run.sh.tmpl")
	if err != nil {
		return nil, err
	}
	library, err := texts.ReadFile("native/libWalkerTest.cpp")
	if err != nil {
		return nil, err
	}
	return []File{
		{Name: "TEST.ROOT", Text: []byte("# The root of a jtreg test suite: jtreg -jdk:JDK -nativepath:FOLDER-OF-LIBRARY .\n")},
		{Name: "WalkerTest.java", Text: java},
		{Name: "libWalkerTest.cpp", Text: library},
		{Name: "run.sh", Text: script, Executable: true},
	}, nil
}

func familyOf(p *misstepv1.Signature) (family, error) {
	s, _ := signature.Read(p) // on an error nil, which is not a mismatch
	m, ok := s.(signature.Mismatch)
	if !ok || m.Check != recipe.GstAsgct {
		return family{}, &UnservedError{"only gst-asgct mismatches occur where a test can compare the walkers itself; " +
			"this finding requires signals or the agent"}
	}
	kin, ok := families[m.Place]
	if !ok || kin.template != "continuation" && m.Difference != "truncated" {
		return family{}, &UnservedError{
			fmt.Sprintf("no short Java program is known to reach this place (%s at %s); it requires the workload",
				m.Difference, m.Place),
		}
	}
	return kin, nil
}

func render(d data, names ...string) ([]byte, error) {
	t, err := template.ParseFS(texts, names...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var compileFlag = regexp.MustCompile(`^-(Xcomp|XX:[+-]?(TieredStopAtLevel|TieredCompilation|Inline)(=\d+)?)$`)

// compileFlags returns the flags that decide how code is compiled. A place that only compiled code reaches at its first run needs
// -Xcomp; a finding that was made without it got there by warming up, which the test does not do.
func compileFlags(flags []string) []string {
	var kept []string
	for _, flag := range flags {
		if compileFlag.MatchString(flag) && !slices.Contains(kept, flag) {
			kept = append(kept, flag)
		}
	}
	if !slices.Contains(kept, "-Xcomp") {
		kept = append(kept, "-Xcomp")
	}
	return kept
}

var jbs = regexp.MustCompile(`^JDK-(\d{7,})$`)

// Bug returns the number of a JBS id for the @bug tag of a jtreg test, or "".
func Bug(known string) string {
	if match := jbs.FindStringSubmatch(known); match != nil {
		return match[1]
	}
	return ""
}

var notWord = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// word makes text safe inside a Java or bash comment.
func word(text string) string { return notWord.ReplaceAllString(text, "_") }
