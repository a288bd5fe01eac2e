package classes

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func archiveOf(t *testing.T, method uint16, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, data := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

// places are class paths on which p.Main can be found.
func TestPlacesOfClasses(t *testing.T) {
	file := map[string][]byte{"p/Main.class": example()}
	inner := archiveOf(t, zip.Deflate, file)
	for name, data := range map[string][]byte{
		"app.jar":    inner,
		"spring.jar": archiveOf(t, zip.Store, map[string][]byte{"BOOT-INF/lib/inner.jar": inner}),
		"packed.war": archiveOf(t, zip.Deflate, map[string][]byte{"WEB-INF/lib/inner.jar": inner}),
		"web.war":    archiveOf(t, zip.Deflate, map[string][]byte{"WEB-INF/classes/p/Main.class": example()}),
		"mod.jmod":   append([]byte{'J', 'M', 1, 0}, archiveOf(t, zip.Deflate, map[string][]byte{"classes/p/Main.class": example()})...),
		"multi.jar":  archiveOf(t, zip.Deflate, map[string][]byte{"META-INF/versions/17/p/Main.class": example()}),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			for _, entry := range []string{path, filepath.Join(filepath.Dir(path), "*")} {
				p, err := Open(entry, "")
				require.NoError(t, err)
				found := p.Find("p.Main")
				require.Len(t, found, 1)
				assert.Equal(t, "p/Main", found[0].Name)
				assert.Empty(t, p.Find("p.Other"))
				assert.Empty(t, p.Errors)
				require.NoError(t, p.Close())
			}
		})
	}
}

func TestClassesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "p"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p", "Main.class"), example(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p", "Wrong.class"), example(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p", "Text.class"), []byte("text"), 0o600))
	p, err := Open(dir+string(filepath.ListSeparator)+dir, "")
	require.NoError(t, err)
	assert.Len(t, p.Find("p/Main"), 2, "two places have it, and either may have run")
	assert.Empty(t, p.Find("p/Wrong"))
	require.Len(t, p.Errors, 2)
	require.ErrorContains(t, p.Errors[0], "class p/Wrong: not a class file of this class: it is p/Main's")
	assert.Empty(t, p.Find("p/Text"))
	require.ErrorIs(t, p.Errors[2], ErrClass)
	for _, name := range []string{"../p/Main", "/p/Main", "", "..", "p//Main", "[I", "p/Main\x00"} {
		assert.Empty(t, p.Find(name), name)
	}
}

func TestBadPlaces(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.jar")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	_, err := Open(text, "")
	require.ErrorContains(t, err, "text.jar")
	_, err = Open(filepath.Join(dir, "absent"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open("", dir)
	require.ErrorContains(t, err, "it has neither lib/modules nor jre/lib/rt.jar")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "lib"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lib", "modules"), []byte("text"), 0o600))
	_, err = Open("", dir)
	require.ErrorIs(t, err, ErrImage)
}

// imageOf makes an image with one class in one module.
func imageOf(class string, data []byte) []byte {
	texts := []byte("\x00")
	text := func(s string) uint64 {
		texts = append(append(texts, s...), 0)
		return uint64(len(texts) - len(s) - 1)
	}
	module := text("m.one")
	var contents []byte
	type resource struct {
		name     string
		location []byte
	}
	location := func(kinds map[uint8]uint64) (b []byte) {
		for kind := uint8(1); kind < attributeCount; kind++ {
			if value, has := kinds[kind]; has {
				b = binary.BigEndian.AppendUint32(append(b, kind<<3|3), uint32(value))
			}
		}
		return append(b, 0)
	}
	add := func(data []byte, kinds map[uint8]uint64) []byte {
		kinds[attributeOffset], kinds[attributeUncompressed] = uint64(len(contents)), uint64(len(data))
		contents = append(contents, data...)
		return location(kinds)
	}
	packages := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0), uint32(module))
	all := []resource{
		{"/packages/p", add(packages, map[uint8]uint64{attributeModule: text("packages"), attributeBase: text("p")})},
		{"/m.one/p/" + class + ".class", add(data, map[uint8]uint64{
			attributeModule: module, attributeParent: text("p"), attributeBase: text(class), attributeExtension: text("class"),
		})},
	}
	// As many places as needed for no two resources to have one.
	length := uint32(2)
	for hashOf(all[0].name, hashMultiplier)%length == hashOf(all[1].name, hashMultiplier)%length {
		length++
	}
	redirect, offsets, locations := make([]byte, 4*length), make([]byte, 4*length), []byte{0}
	for i, r := range all {
		at := hashOf(r.name, hashMultiplier) % length
		binary.LittleEndian.PutUint32(redirect[4*at:], uint32(int32(-1-i)))
		binary.LittleEndian.PutUint32(offsets[4*i:], uint32(len(locations)))
		locations = append(locations, r.location...)
	}
	var head []byte
	for _, v := range []uint32{imageMagic, 1 << 16, 0, 2, length, uint32(len(locations)), uint32(len(texts))} {
		head = binary.LittleEndian.AppendUint32(head, v)
	}
	return join(head, redirect, offsets, locations, texts, contents)
}

func TestImage(t *testing.T) {
	whole := imageOf("Main", example())
	m, err := openImage(bytes.NewReader(whole))
	require.NoError(t, err)
	data, err := m.find("p/Main")
	require.NoError(t, err)
	assert.Equal(t, example(), data)
	for _, name := range []string{"p/Absent", "Main", "q/Main"} {
		data, err = m.find(name)
		require.NoError(t, err)
		assert.Nil(t, data, name)
	}
	for size := range imageHeaderBytes + 20 {
		_, err := openImage(bytes.NewReader(whole[:size]))
		require.ErrorIs(t, err, ErrImage, "cut off after %d bytes", size)
	}
	_, err = func() ([]byte, error) {
		m, err := openImage(bytes.NewReader(whole[:len(whole)-1]))
		require.NoError(t, err)
		return m.find("p/Main")
	}()
	require.Error(t, err)
}

func FuzzImage(f *testing.F) {
	f.Add(imageOf("Main", example()), "p/Main")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		m, err := openImage(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, ErrImage)
			return
		}
		_, _ = m.find(name)
	})
}
