package workloads

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"misstep/internal/shorten"
)

// field reads one value of the manifest into m; its error names what was expected.
type field func(m *Manifest, value *yaml.Node) error

// fields of a manifest by name.
var fields = map[string]field{
	"name": func(m *Manifest, v *yaml.Node) (err error) {
		if m.Name, err = text(v); err != nil {
			return err
		}
		return CheckName(m.Name)
	},
	"description": func(m *Manifest, v *yaml.Node) (err error) {
		m.Description, err = text(v)
		return err
	},
	"main": func(m *Manifest, v *yaml.Node) (err error) {
		if m.Main, err = text(v); err != nil {
			return err
		}
		if !classPattern.MatchString(m.Main) {
			return fmt.Errorf("want a class name with dots, such as misstep.workloads.h2.Main; got %q", clip(m.Main, 80))
		}
		return nil
	},
	"jar": func(m *Manifest, v *yaml.Node) (err error) {
		if m.Jar, err = text(v); err != nil {
			return err
		}
		if strings.HasSuffix(m.Jar, "*") {
			return fmt.Errorf("want one jar; got %q", clip(m.Jar, 80))
		}
		return checkRelative(m.Jar)
	},
	"classpath": func(m *Manifest, v *yaml.Node) (err error) {
		m.Classpath, err = texts(v, checkRelative)
		return err
	},
	"arguments": func(m *Manifest, v *yaml.Node) (err error) {
		m.Arguments, err = texts(v, nil)
		return err
	},
	"repetitions": func(m *Manifest, v *yaml.Node) error {
		n, err := integer(v, 1, maxRepetitions)
		m.Repetitions = uint32(n)
		return err
	},
	"jvm_flags": func(m *Manifest, v *yaml.Node) (err error) {
		m.JVMFlags, err = texts(v, func(flag string) error {
			if !flagPattern.MatchString(flag) || strings.HasPrefix(flag, "-cp") || strings.HasPrefix(flag, "-jar") ||
				strings.HasPrefix(flag, "-class") {
				return fmt.Errorf("want a flag of the JVM that begins with \"-\" and sets no class path; got %q", clip(flag, 80))
			}
			return nil
		})
		return err
	},
	"min_feature": func(m *Manifest, v *yaml.Node) (err error) {
		m.MinFeature, err = integer(v, defaultFeature, maxFeature)
		return err
	},
	"harness": func(m *Manifest, v *yaml.Node) error {
		s, err := text(v)
		if err != nil {
			return err
		}
		switch m.Harness = Harness(s); m.Harness {
		case HarnessPlain, HarnessRenaissance, HarnessProgram:
			return nil
		}
		return fmt.Errorf("want plain, renaissance or program; got %q", clip(s, 80))
	},
	"exit_code": func(m *Manifest, v *yaml.Node) (err error) {
		m.ExitCode, err = integer(v, 0, math.MaxUint8)
		return err
	},
	"needs_compiler": func(m *Manifest, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" {
			return fmt.Errorf("want true or false; got %s", kind(v))
		}
		return v.Decode(&m.NeedsCompiler)
	},
	"calibration": func(m *Manifest, v *yaml.Node) (err error) {
		m.Calibration, err = text(v)
		return err
	},
}

// Parse validates the bytes of a manifest; file names it in errors. It does not read any other file.
func Parse(data []byte, file string) (Manifest, error) {
	fail := func(line int, field, format string, args ...any) (Manifest, error) {
		return Manifest{}, &ManifestError{File: file, Line: line, Field: field, Problem: fmt.Sprintf(format, args...)}
	}
	if len(data) > maxManifestBytes {
		return fail(0, "", "is larger than %d bytes; shorten it", maxManifestBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		line, problem := yamlProblem(err)
		return fail(line, "", "invalid YAML: %s", problem)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fail(0, "", "want a mapping with the fields %s", fieldNames())
	}
	m := Manifest{Repetitions: 1, MinFeature: defaultFeature, Harness: HarnessPlain}
	lines := make(map[string]int)
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		read, known := fields[key.Value]
		if key.Kind != yaml.ScalarNode || !known {
			return fail(key.Line, clip(key.Value, 80), "is unknown; the fields are %s", fieldNames())
		}
		if first, twice := lines[key.Value]; twice {
			return fail(key.Line, key.Value, "is given twice, first in line %d; keep one", first)
		}
		lines[key.Value] = key.Line
		if err := read(&m, value); err != nil {
			line := value.Line
			if item := (*itemError)(nil); errors.As(err, &item) {
				line = item.line
			}
			return fail(line, key.Value, "%v", err)
		}
	}
	switch {
	case m.Name == "":
		return fail(0, "name", "is missing; give the workload a name")
	case m.Harness == HarnessRenaissance && m.Jar == "":
		return fail(lines["harness"], "jar", "is missing; the renaissance harness is started with -jar")
	case m.Main == "" && m.Jar == "":
		return fail(0, "main", "is missing; give the main class, or jar for a jar that is started with -jar")
	case m.Main != "" && m.Jar != "":
		return fail(lines["jar"], "jar", "excludes main (line %d); keep one of them", lines["main"])
	case m.ExitCode != 0 && m.Harness != HarnessProgram:
		return fail(lines["exit_code"], "exit_code", "is for the harness program; remove it")
	case m.Main != "" && len(m.Classpath) == 0 && m.Harness != HarnessProgram:
		return fail(lines["main"], "classpath", "is missing; list the jars, such as [\"lib/*\"]")
	case m.Jar != "" && len(m.Classpath) > 0:
		return fail(lines["classpath"], "classpath", "has no effect with jar; remove it")
	}
	return m, nil
}

// itemError is an error in one item of a list, with the item's line.
type itemError struct {
	line int
	err  error
}

func (e *itemError) Error() string { return e.err.Error() }
func (e *itemError) Unwrap() error { return e.err }

// text reads a scalar literally.
func text(v *yaml.Node) (string, error) {
	switch {
	case v.Kind != yaml.ScalarNode || v.Tag == "!!null" || v.Tag == "!!binary":
		return "", fmt.Errorf("want a string; got %s", kind(v))
	case len(v.Value) > maxText:
		return "", fmt.Errorf("is longer than %d bytes", maxText)
	case v.Value == "":
		return "", errors.New("is empty; give a value or leave the field out")
	case !utf8.ValidString(v.Value) || strings.ContainsFunc(v.Value, unicode.IsControl):
		return "", errors.New("has characters that do not print, or several lines; want one line")
	}
	return v.Value, nil
}

// texts reads a list of strings and validates each with check, unless that is nil.
func texts(v *yaml.Node, check func(string) error) ([]string, error) {
	if v.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("want a list, such as [a, b]; got %s", kind(v))
	}
	if len(v.Content) > maxItems {
		return nil, fmt.Errorf("has more than %d items", maxItems)
	}
	list := make([]string, 0, len(v.Content))
	for _, item := range v.Content {
		s, err := text(item)
		if err == nil && check != nil {
			err = check(s)
		}
		if err != nil {
			return nil, &itemError{item.Line, err}
		}
		list = append(list, s)
	}
	return list, nil
}

// integer reads an integer in [low, high].
func integer(v *yaml.Node, low, high int) (int, error) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!int" {
		if n, err := strconv.Atoi(v.Value); err == nil && low <= n && n <= high {
			return n, nil
		}
	}
	return 0, fmt.Errorf("want an integer from %d to %d; got %s", low, high, kind(v))
}

// kind describes a value for an error.
func kind(v *yaml.Node) string {
	switch v.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which manifests do not support"
	case yaml.ScalarNode:
		if v.Tag == "!!null" {
			return "nothing"
		}
		return fmt.Sprintf("%q", clip(v.Value, 80))
	default:
		return "nothing"
	}
}

// yamlProblem extracts the line from the library's message "yaml: line 3: did not find…".
func yamlProblem(err error) (line int, problem string) {
	problem = oneLine(strings.TrimPrefix(err.Error(), "yaml: "), 200)
	if rest, ok := strings.CutPrefix(problem, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				return n, what
			}
		}
	}
	return 0, problem
}

// fieldNames lists the fields of a manifest.
func fieldNames() string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

// clip shortens s to at most n bytes of valid UTF-8.
func clip(s string, n int) string { return shorten.To(strings.ToValidUTF8(s, "\uFFFD"), n) }

// oneLine turns any s into one printable line of at most n bytes.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return clip(strings.TrimSpace(s), n)
}
