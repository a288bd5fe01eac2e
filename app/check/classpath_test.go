package check

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// jarOf writes a jar with a manifest.
func jarOf(t *testing.T, name, manifest string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	file, err := os.Create(name)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	entry, err := archive.Create("META-INF/MANIFEST.MF")
	require.NoError(t, err)
	_, err = fmt.Fprint(entry, manifest)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

func TestLaunchOf(t *testing.T) {
	t.Chdir(t.TempDir())
	jarOf(t, "app.jar", "Manifest-Version: 1.0\r\nMain-Class: com.example.name.in.two.lin\r\n es\r\n\r\n"+
		"Name: x\r\nMain-Class: other\r\n")
	for _, c := range []struct {
		args []string
		want launch
	}{
		{[]string{"-Xmx1g", "-cp", "a:lib/*", "--add-opens", "x/y=z", "com/example/Main", "-cp", ""}, launch{
			main: "com.example.Main", classpath: []string{"a", "lib/*"}, flags: []string{"-Xmx1g", "--add-opens=x/y=z"},
			arguments: []string{"-cp", ""},
		}},
		{[]string{"-cp", "a", "--class-path=b", "-p", "m", "Main"}, launch{
			main: "Main", classpath: []string{"b"}, flags: []string{"--module-path=m"}, arguments: []string{},
		}},
		{[]string{"Main"}, launch{main: "Main", classpath: []string{"of", "variable"}, arguments: []string{}}},
		{[]string{"-cp", "ignored", "-jar", "app.jar", "-x"}, launch{
			jar: "app.jar", main: "com.example.name.in.two.lines", classpath: []string{"app.jar"},
			arguments: []string{"-x"},
		}},
	} {
		l, err := launchOf(c.args, "of:variable")
		require.NoError(t, err, c.args)
		assert.Equal(t, c.want, l, c.args)
	}
	for _, args := range [][]string{
		{"-m", "m/Main"},
		{"--module=m/Main"},
		{"@file", "Main"},
		{"Main.java"},
		{"--source", "17", "Main"},
		{"-version"},
		{"-jar"},
		{},
	} {
		_, err := launchOf(args, "")
		require.ErrorContains(t, err, "give such a command", args)
	}
	jarOf(t, "no-main.jar", "Manifest-Version: 1.0\n")
	_, err := launchOf([]string{"-jar", "no-main.jar"}, "")
	require.ErrorContains(t, err, "no-main.jar has no Main-Class")
	_, err = launchOf([]string{"-jar", "missing.jar"}, "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// places are the places of files in a bundle, with the ones that they come from.
func places(files []classFile) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.to] = f.from
	}
	return all
}

func TestClassFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	jarOf(t, "app/app.jar", "Class-Path: lib/a.jar lib/a.jar\n  missing.jar http://example.com/x.jar conf/\n")
	jarOf(t, "app/lib/a.jar", "Class-Path: b%20c.jar ../app.jar\n")
	jarOf(t, "app/lib/b c.jar", "Class-Path: a.jar\n")
	require.NoError(t, os.Mkdir("app/conf", 0o755))
	require.NoError(t, os.WriteFile("app/conf/log.xml", []byte("<x/>"), 0o644))
	require.NoError(t, os.Symlink("log.xml", "app/conf/linked.xml"))
	jarOf(t, "app/own.jar", "Class-Path: lib/b%20c.jar\n")

	_, _, err := classFilesOf(launch{classpath: []string{"app/app.jar"}}, 1<<20)
	require.ErrorContains(t, err, "names ../app.jar, outside of its folder")
	jarOf(t, "app/lib/a.jar", "Class-Path: b%20c.jar\n")
	files, classpath, err := classFilesOf(launch{classpath: []string{"app/app.jar"}}, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, []string{"program/0/app.jar"}, classpath)
	assert.Equal(t, map[string]string{
		"program/0/app.jar": "app/app.jar", "program/0/lib/a.jar": "app/lib/a.jar", "program/0/lib/b c.jar": "app/lib/b c.jar",
		"program/0/conf/log.xml": "app/conf/log.xml", "program/0/conf/linked.xml": "app/conf/linked.xml",
	}, places(files))
	dir := t.TempDir()
	require.NoError(t, copyFiles(files, dir))
	text, err := os.ReadFile(filepath.Join(dir, "program/0/conf/linked.xml"))
	require.NoError(t, err)
	assert.Equal(t, "<x/>", string(text))

	files, classpath, err = classFilesOf(launch{classpath: []string{"no-such", "app/lib/*", "app/conf"}}, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, []string{"program/0/a.jar", "program/1/b c.jar", "program/2"}, classpath)
	assert.Equal(t, "app/conf/log.xml", places(files)["program/2/log.xml"])

	require.NoError(t, os.Mkdir("empty", 0o755))
	here, err := os.Getwd()
	require.NoError(t, err)
	_, classpath, err = classFilesOf(launch{classpath: []string{"empty", here + "/app/lib/*", "empty"}}, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, []string{"program/0/a.jar", "program/1/b c.jar"}, classpath)

	_, _, err = classFilesOf(launch{classpath: []string{"app/lib/*"}}, 100)
	require.ErrorContains(t, err, "more than 100 B: name less, or a larger --bundle-limit")
	_, _, err = classFilesOf(launch{classpath: []string{"no-such"}}, 100)
	require.ErrorContains(t, err, "nothing of the class path no-such exists")
	require.NoError(t, os.Symlink(".", "app/conf/loop"))
	_, _, err = classFilesOf(launch{classpath: []string{"app/conf"}}, 1<<20)
	require.ErrorContains(t, err, "no regular file")
}

func FuzzJarManifest(f *testing.F) {
	f.Add("Main-Class: a.B\r\nClass-Path: lib/a.jar ../b.jar\r\n c.jar\r\n\r\nName: x\r\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, manifest string) {
		name := filepath.Join(dir, "x.jar")
		jarOf(t, name, manifest)
		_, err := jarManifest(name)
		require.NoError(t, err)
		files, _, err := classFilesOf(launch{classpath: []string{name}}, 1<<20)
		if err == nil {
			for _, file := range files {
				require.True(t, filepath.IsLocal(file.to), file.to)
			}
		}
	})
}
