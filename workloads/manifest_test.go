package workloads_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/workloads"
)

const whole = `name: h2-transactions
description: one line
main: misstep.workloads.h2.Main
classpath: [lib/h2.jar, "more/*"]
arguments: ["4", 2000]
repetitions: 3
jvm_flags: [-Xmx512m]
min_feature: 17
harness: plain
needs_compiler: true
calibration: JDK-8303444
`

func TestParseReadsEveryField(t *testing.T) {
	m, err := workloads.Parse([]byte(whole), "w.yaml")
	require.NoError(t, err)
	assert.Equal(t, workloads.Manifest{
		Name: "h2-transactions", Description: "one line", Main: "misstep.workloads.h2.Main",
		Classpath: []string{"lib/h2.jar", "more/*"}, Arguments: []string{"4", "2000"}, Repetitions: 3,
		JVMFlags: []string{"-Xmx512m"}, MinFeature: 17, Harness: workloads.HarnessPlain, NeedsCompiler: true,
		Calibration: "JDK-8303444",
	}, m)
}

func TestParseFillsInDefaults(t *testing.T) {
	m, err := workloads.Parse([]byte("name: a\njar: a.jar\n"), "w.yaml")
	require.NoError(t, err)
	assert.Equal(t, workloads.Manifest{Name: "a", Jar: "a.jar", Repetitions: 1, MinFeature: 8, Harness: workloads.HarnessPlain}, m)
}

func TestParseNamesLineFieldAndRemedy(t *testing.T) {
	const start = "name: a\nmain: a.B\nclasspath: [a.jar]\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "w.yaml: want a mapping with the fields arguments, calibration,"},
		{"list", "- a", "w.yaml: want a mapping"},
		{"no yaml", start + "a: [", "w.yaml:4: invalid YAML: did not find expected node content"},
		{"unknown field", start + "repetition: 3", "w.yaml:4: field repetition: is unknown; the fields are arguments"},
		{"twice", start + "name: b", "w.yaml:4: field name: is given twice, first in line 1"},
		{"name missing", "main: a.B\nclasspath: [a.jar]", "w.yaml: field name: is missing"},
		{"name climbs", "name: ../a", "w.yaml:1: field name: want 1 to 64 characters of a-z"},
		{"name is a list", "name: [a]", "w.yaml:1: field name: want a string; got a list"},
		{"name is nothing", "name:", "w.yaml:1: field name: want a string; got nothing"},
		{"main missing", "name: a", "w.yaml: field main: is missing"},
		{"main is a path", "name: a\nmain: a/B.class", "w.yaml:2: field main: want a class name with dots"},
		{"main and jar", start + "jar: a.jar", "w.yaml:4: field jar: excludes main (line 2)"},
		{"exit code", start + "exit_code: 3", "w.yaml:4: field exit_code: is for the harness program"},
		{"class path missing", "name: a\nmain: a.B", "w.yaml:2: field classpath: is missing"},
		{
			"class path climbs", "name: a\nmain: a.B\nclasspath:\n- lib/a.jar\n- ../b.jar",
			"w.yaml:5: field classpath: want a path inside the workload's folder",
		},
		{"class path absolute", "name: a\nmain: a.B\nclasspath: [/a.jar]", "w.yaml:3: field classpath: want a path inside"},
		{"class path with colon", "name: a\nmain: a.B\nclasspath: ['a:b']", "w.yaml:3: field classpath: want a path without \":\""},
		{
			"class path star", "name: a\nmain: a.B\nclasspath: ['*/a.jar']",
			"w.yaml:3: field classpath: \"*\" is allowed only at the end",
		},
		{"class path is a text", "name: a\nmain: a.B\nclasspath: lib", "w.yaml:3: field classpath: want a list"},
		{
			"repetitions text", start + "repetitions: three",
			`w.yaml:4: field repetitions: want an integer from 1 to 1048576; got "three"`,
		},
		{"repetitions zero", start + "repetitions: 0", "w.yaml:4: field repetitions: want an integer"},
		{"min_feature old", start + "min_feature: 7", "w.yaml:4: field min_feature: want an integer from 8"},
		{"flag", start + "jvm_flags: [Xmx1g]", "w.yaml:4: field jvm_flags: want a flag of the JVM"},
		{"flag -cp", start + "jvm_flags: [-cp]", "w.yaml:4: field jvm_flags: want a flag of the JVM"},
		{"harness", start + "harness: junit", "w.yaml:4: field harness: want plain, renaissance or program"},
		{"renaissance without jar", start + "harness: renaissance", "w.yaml:4: field jar: is missing; the renaissance harness"},
		{"needs_compiler", start + "needs_compiler: 3", "w.yaml:4: field needs_compiler: want true or false"},
		{"alias", "name: &a a\ndescription: *a", "w.yaml:2: field description: want a string; got an alias"},
		{"control", "name: a\ndescription: \"a\\nb\"", "w.yaml:2: field description: has characters that do not print"},
		{
			"long text", "name: a\ndescription: " + strings.Repeat("a", 5000),
			"w.yaml:2: field description: is longer than 4096 bytes",
		},
		{
			"many items", start + "arguments: [" + strings.Repeat("a,", 300) + "]",
			"w.yaml:4: field arguments: has more than 256 items",
		},
		{"large", strings.Repeat("#", 70000), "w.yaml: is larger than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := workloads.Parse([]byte(c.text), "w.yaml")
			var want *workloads.ManifestError
			require.ErrorAs(t, err, &want)
			assert.Contains(t, err.Error(), c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestLoadChecksTheFiles(t *testing.T) {
	_, err := workloads.Load(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Contains(t, err.Error(), "has no workload.yaml")

	dir := folder(t, "name: a\nmain: a.B\nclasspath: [lib/a.jar, 'more/*']\n")
	_, err = workloads.Load(dir)
	require.ErrorContains(t, err, "a.jar does not exist; build the workload first")
	write(t, filepath.Join(dir, "lib", "a.jar"), "jar")
	_, err = workloads.Load(dir)
	require.ErrorContains(t, err, "there is no jar in "+filepath.Join(dir, "more"))
	write(t, filepath.Join(dir, "more", "b.jar"), "jar")
	_, err = workloads.Load(dir)
	require.NoError(t, err)
}

// FuzzParse asserts that Parse never panics, and that the manifests that it accepts are valid.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("name: a\njar: a.jar\nharness: renaissance\n"))
	f.Add([]byte("? [a]\n: b"))
	f.Add([]byte("name: !!binary AAAA"))
	f.Add([]byte("<<: {name: a}"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := workloads.Parse(data, "w.yaml")
		if err != nil {
			var want *workloads.ManifestError
			require.ErrorAs(t, err, &want)
			return
		}
		assert.NotEmpty(t, m.Name)
		assert.NotContains(t, m.Name, "/")
		assert.NotEqual(t, m.Main == "", m.Jar == "")
		assert.Positive(t, m.Repetitions)
		assert.GreaterOrEqual(t, m.MinFeature, 8)
		for _, entry := range m.Classpath {
			assert.True(t, filepath.IsLocal(entry), entry)
		}
	})
}

// folder creates a workload's folder with that manifest.
func folder(t *testing.T, manifest string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workload")
	write(t, filepath.Join(dir, workloads.ManifestFile), manifest)
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}
