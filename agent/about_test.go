package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/internal/regular"
	"misstep/recipe"
)

func TestAbout(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileAbout)
	_, err := ReadAbout(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	text := "pid=7\nversion=OpenJDK (17)\nhome=/jdk\ncommand=app.jar a=b\n" +
		"options=out=/x,gst-asgct=0,asgct-gst-bracket=1,liveness=5\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	a, err := ReadAbout(path)
	require.NoError(t, err)
	require.Equal(t, About{
		PID: 7, Version: "OpenJDK (17)", Home: "/jdk", Command: "app.jar a=b",
		Options: "out=/x,gst-asgct=0,asgct-gst-bracket=1,liveness=5",
	}, a)
	require.Equal(t, []string{recipe.ShadowGst, recipe.AsgctShadow, recipe.AsgctGstBracket, recipe.Liveness}, a.Checks(),
		"what is not given has the agent's default")
	require.NoError(t, os.WriteFile(path, []byte("pid=7\nvers"), 0o600))
	_, err = ReadAbout(path)
	require.ErrorContains(t, err, "was cut off")
	require.NoError(t, os.Remove(path))
	require.NoError(t, unix.Mkfifo(path, 0o600)) // without a writer: whoever opens it waits
	_, err = ReadAbout(path)
	require.ErrorIs(t, err, regular.ErrOther)
}
