package initramfs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aDay is an arbitrary time.
var aDay = time.Unix(86400, 0)

// list parses an archive according to its specification, independently of the Writer: one line per entry.
func list(t *testing.T, archive []byte) []string {
	t.Helper()
	var lines []string
	for at := 0; ; {
		var field [13]int
		require.Equal(t, "070701", string(archive[at:at+6]), "at %d", at)
		for i := range field {
			_, err := fmt.Sscanf(string(archive[at+6+8*i:at+14+8*i]), "%08X", &field[i])
			require.NoError(t, err)
		}
		nameAt, nameSize, size := at+110, field[11], field[6]
		require.Zero(t, archive[nameAt+nameSize-1], "the name ends with a zero")
		name := string(archive[nameAt : nameAt+nameSize-1])
		data := nameAt + nameSize
		data += (4 - data%4) % 4
		if name == "TRAILER!!!" {
			require.Zero(t, len(archive)%512)
			return lines
		}
		lines = append(lines, fmt.Sprintf("%o %d:%d %s %q", field[1], field[9], field[10], name, archive[data:data+size]))
		at = data + size
		at += (4 - at%4) % 4
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.CharDevice("dev/console", 0o600, 5, 1))
	require.NoError(t, w.Bytes("/init", 0o755, []byte("program")))
	require.NoError(t, w.Bytes("a/b/c", 0o644, nil))
	require.NoError(t, w.Symlink("a/link", "b/c"))
	require.NoError(t, w.Dir("tmp", 0o777|os.ModeSticky))
	require.NoError(t, w.Dir("a/b", 0o700), "an existing folder is left unchanged")
	require.NoError(t, w.Close())
	assert.Equal(t, []string{
		`40755 0:0 dev ""`, `20600 5:1 dev/console ""`, `100755 0:0 init "program"`, `40755 0:0 a ""`, `40755 0:0 a/b ""`,
		`100644 0:0 a/b/c ""`, `120777 0:0 a/link "b/c"`, `41777 0:0 tmp ""`,
	}, list(t, out.Bytes()))
}

func TestWriterAgreesWithCpio(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skipf("no busybox to unpack with: %v; run deploy/vm/install.sh", err)
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.Bytes("one/two", 0o640, bytes.Repeat([]byte("xyz"), 1000)))
	require.NoError(t, w.Symlink("three", "one/two"))
	require.NoError(t, w.Close())
	dir := t.TempDir()
	cmd := exec.Command(busybox, "cpio", "-i", "-d")
	cmd.Dir, cmd.Stdin = dir, &out
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	got, err := os.ReadFile(filepath.Join(dir, "three"))
	require.NoError(t, err)
	assert.Equal(t, bytes.Repeat([]byte("xyz"), 1000), got)
}

func TestWriterRefuses(t *testing.T) {
	w := NewWriter(io.Discard)
	require.NoError(t, w.Bytes("a", 0o644, nil))
	require.ErrorContains(t, w.Bytes("./a", 0o644, nil), "there twice")
	require.ErrorContains(t, w.Bytes("/", 0o644, nil), "bad name")
	require.ErrorContains(t, w.Bytes("a\x00b", 0o644, nil), "bad name")
	require.ErrorContains(t, w.File("b", 0o644, strings.NewReader("xy"), 3), "2 bytes of 3")
	require.ErrorContains(t, w.File("c", 0o644, nil, 1<<32), "at most")
	require.Error(t, w.Host("d", "/nonexistent"))
	require.ErrorContains(t, w.Host("e", "/dev/null"), "not a regular file")
}

func TestTreeIsTheSameWheneverWritten(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "conf"), []byte("outside"), 0o600))
	require.NoError(t, os.Symlink(".", filepath.Join(outside, "circle")))
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "skipped/deep"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin/java"), []byte("java"), 0o755))
	for link, target := range map[string]string{
		"inside": "bin/java", "absolute": filepath.Join(dir, "bin/java"), "bin/around": "../../" + filepath.Base(dir) + "/inside",
		"file": filepath.Join(outside, "conf"), "folder": outside, "dangling": "nowhere",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	pack := func() []byte {
		var out bytes.Buffer
		w := NewWriter(&out)
		require.NoError(t, w.Tree("jdk", dir, func(rel string) bool { return rel == "skipped" }))
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	first := pack()
	require.NoError(t, os.Chtimes(filepath.Join(dir, "bin/java"), aDay, aDay))
	require.NoError(t, os.Chmod(filepath.Join(dir, "bin/java"), 0o700))
	assert.Equal(t, first, pack())
	assert.Equal(t, []string{
		`40755 0:0 jdk ""`, `120777 0:0 jdk/absolute "bin/java"`, `40755 0:0 jdk/bin ""`, `120777 0:0 jdk/bin/around "java"`,
		`100755 0:0 jdk/bin/java "java"`, `120777 0:0 jdk/dangling "nowhere"`,
		`100644 0:0 jdk/file "outside"`, `40755 0:0 jdk/folder ""`, `120777 0:0 jdk/folder/circle "."`,
		`100644 0:0 jdk/folder/conf "outside"`,
		`120777 0:0 jdk/inside "bin/java"`,
	}, list(t, first))
}
