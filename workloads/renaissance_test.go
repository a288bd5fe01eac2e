package workloads_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// tool returns the path of a program of the JDK, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path := filepath.Join(home, "bin", name); exec.Command(path, "-version").Run() == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s on the PATH nor in $JAVA_HOME: install a JDK", name)
	}
	return path
}

// launcherJar builds a jar with the launcher's command line. It is not Renaissance: it only shows that the adapter parses the
// output of such a launcher.
func launcherJar(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	jar := filepath.Join(dir, "fake.jar")
	for _, command := range [][]string{
		{
			tool(t, "javac"), "--release", "8", "-nowarn", "-Xlint:-options", "-d", dir,
			filepath.Join("testdata", "launcher", "Launcher.java"),
		},
		{tool(t, "jar"), "--create", "--file", jar, "--main-class", "Launcher", "-C", dir, "Launcher.class"},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return jar
}

func TestAddRenaissanceReadsTheNamesFromTheJar(t *testing.T) {
	jar, java := launcherJar(t), tool(t, "java")
	home := t.TempDir()
	c := workloads.Open(home)
	entries, err := c.AddRenaissance(t.Context(), workloads.RenaissanceOptions{Jar: jar, Java: java})
	require.NoError(t, err)
	require.Len(t, entries, 4)
	assert.Equal(t, "renaissance/fake-empty", entries[0].Name)
	assert.Equal(t, workloads.HarnessRenaissance, entries[0].Harness)

	for name, want := range map[string]string{
		"fake-good":     "",
		"fake-empty":    "validation: exit 0, but no iteration was completed",
		"fake-invalid":  "validation: expected 1 but got 2",
		"fake-throwing": "exception: java.lang.IllegalStateException: thrown on purpose",
		"fake-unknown":  "start: Renaissance did not start: Benchmark (or group) 'fake-unknown' does not exist.",
	} {
		t.Run(name, func(t *testing.T) {
			m, err := workloads.Load(entries[0].Path)
			require.NoError(t, err)
			inv, err := m.Invocation(entries[0].Path, &misstepv1.Workload{Name: "renaissance/" + name}, t.TempDir())
			require.NoError(t, err)
			exit, stdout, stderr := run(t, java, inv.Args...)
			assertFailure(t, want, m.Judge(exit, stdout, stderr))
		})
	}

	// Adding again replaces the benchmarks; removal leaves nothing.
	again, err := c.AddRenaissance(t.Context(), workloads.RenaissanceOptions{Jar: jar, Java: java})
	require.NoError(t, err)
	assert.Equal(t, entries, again)
	require.NoError(t, c.Remove("renaissance"))
	all, err := c.List()
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.NoDirExists(t, entries[0].Path)
}

func TestAddRenaissanceRefuses(t *testing.T) {
	c := workloads.Open(t.TempDir())
	broken := filepath.Join(t.TempDir(), "broken.jar")
	write(t, broken, "PK\x03\x04 cut off")
	add := func(o workloads.RenaissanceOptions) error {
		entries, err := c.AddRenaissance(t.Context(), o)
		assert.Empty(t, entries)
		return err
	}
	require.ErrorContains(t, add(workloads.RenaissanceOptions{}), "give either the path of its jar or its URL")
	require.ErrorContains(t, add(workloads.RenaissanceOptions{Jar: "a", URL: "b"}), "give either")
	require.ErrorContains(t, add(workloads.RenaissanceOptions{Jar: broken, Java: "java"}), "is not a complete jar; fetch it again")
	require.ErrorIs(t, add(workloads.RenaissanceOptions{Jar: broken + "x", Java: "java"}), os.ErrNotExist)
	require.ErrorContains(t, add(workloads.RenaissanceOptions{Jar: broken, SHA256: "abc"}), "want 64 hexadecimal digits")
	require.ErrorContains(t, add(workloads.RenaissanceOptions{Jar: broken, SHA256: hex.EncodeToString(make([]byte, 32))}),
		"sha256:")
	require.ErrorContains(t, add(workloads.RenaissanceOptions{URL: "http://localhost/x.jar"}), "needs the SHA-256")
	all, err := c.List()
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestAddRenaissanceRefusesAJarThatListsNothing(t *testing.T) {
	java := tool(t, "java")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Main.java"),
		`public class Main { public static void main(String[] a) { System.out.println("Usage: it does other things"); } }`)
	jar := filepath.Join(dir, "other.jar")
	out, err := exec.Command(tool(t, "javac"), "-d", dir, filepath.Join(dir, "Main.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(tool(t, "jar"), "--create", "--file", jar, "--main-class", "Main", "-C", dir,
		"Main.class").CombinedOutput()
	require.NoError(t, err, "%s", out)
	home := t.TempDir()
	_, err = workloads.Open(home).AddRenaissance(t.Context(), workloads.RenaissanceOptions{Jar: jar, Java: java})
	require.ErrorContains(t, err, "is this the jar of Renaissance?")
	left, err := os.ReadDir(filepath.Join(home, "workloads"))
	require.NoError(t, err)
	assert.Empty(t, left, "a failed import leaves nothing")
}

func TestAddRenaissanceFromURL(t *testing.T) {
	jar, java := launcherJar(t), tool(t, "java")
	data, err := os.ReadFile(jar)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/fake.jar" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	sum := sha256.Sum256(data)
	o := workloads.RenaissanceOptions{
		URL: server.URL + "/fake.jar", SHA256: hex.EncodeToString(sum[:]), Java: java,
		Client: server.Client(),
	}
	c := workloads.Open(t.TempDir())
	entries, err := c.AddRenaissance(t.Context(), o)
	require.NoError(t, err)
	assert.Len(t, entries, 4)
	assert.Equal(t, o.URL, entries[0].Source)

	o.URL = server.URL + "/gone.jar"
	_, err = c.AddRenaissance(t.Context(), o)
	require.ErrorContains(t, err, "404")
	data[len(data)/2] ^= 1
	o.URL = server.URL + "/fake.jar"
	_, err = c.AddRenaissance(t.Context(), o)
	require.ErrorContains(t, err, o.SHA256, "a flipped bit is detected")
}

// run runs a program and returns its exit code and output.
func run(t *testing.T, program string, args ...string) (exit int, stdout, stderr []byte) {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = t.TempDir()
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		var failed *exec.ExitError
		require.ErrorAs(t, err, &failed)
	}
	return command.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()
}

// assertFailure compares with "reason: message"; empty stands for none.
func assertFailure(t *testing.T, want string, got *misstepv1.ApplicationFailure) {
	t.Helper()
	if want == "" {
		assert.Nil(t, got)
		return
	}
	if assert.NotNil(t, got) {
		assert.Contains(t, got.Reason+": "+got.Message, want)
	}
}
