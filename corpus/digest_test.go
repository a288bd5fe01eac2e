package corpus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
)

const emptyDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // FIPS 180-4 test vector

func TestDigestText(t *testing.T) {
	d := corpus.DigestBytes(nil)
	assert.Equal(t, emptyDigest, d.String())
	parsed, err := corpus.ParseDigest(emptyDigest)
	require.NoError(t, err)
	assert.Equal(t, d, parsed)
	assert.False(t, d.IsZero())
	assert.True(t, corpus.Digest{}.IsZero())
	assert.Empty(t, corpus.Digest{}.String())
}

func TestParseDigestRefuses(t *testing.T) {
	for _, text := range []string{
		"", "sha256:", strings.TrimPrefix(emptyDigest, "sha256:"), emptyDigest + "0", emptyDigest[:70], strings.ToUpper(emptyDigest),
		"sha256:" + strings.ToUpper(emptyDigest[7:]), "sha512:" + emptyDigest[7:], "sha256:" + strings.Repeat("g", 64),
		"sha256:" + strings.Repeat("0", 64), " " + emptyDigest, emptyDigest + "\n",
	} {
		_, err := corpus.ParseDigest(text)
		require.Error(t, err, "%q", text)
	}
}

func TestDigestInJSON(t *testing.T) {
	type record struct {
		Digest, None corpus.Digest
	}
	data, err := json.Marshal(record{Digest: corpus.DigestBytes(nil)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Digest":"`+emptyDigest+`","None":""}`, string(data))
	var back record
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, record{Digest: corpus.DigestBytes(nil)}, back)
	require.Error(t, json.Unmarshal([]byte(`{"Digest":"sha256:1"}`), &back))
}

func TestReceiveBounds(t *testing.T) {
	data := []byte("0123456789")
	for limit, fits := range map[int64]bool{9: false, 10: true, 11: true, 0: true} {
		var out bytes.Buffer
		d, size, err := corpus.Receive(t.Context(), &out, bytes.NewReader(data), corpus.Digest{}, limit)
		if !fits {
			require.ErrorIs(t, err, corpus.ErrTooLarge)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, corpus.DigestBytes(data), d)
		assert.EqualValues(t, 10, size)
		assert.Equal(t, data, out.Bytes())
	}
}

func TestVerifyReader(t *testing.T) {
	reader := func(want string) io.Reader {
		return corpus.VerifyReader(io.NopCloser(strings.NewReader("bytes")), corpus.DigestBytes([]byte(want)))
	}
	got, err := io.ReadAll(reader("bytes"))
	require.NoError(t, err)
	assert.Equal(t, "bytes", string(got))
	_, err = io.ReadAll(reader("other"))
	var mismatch *corpus.MismatchError
	require.ErrorAs(t, err, &mismatch)
}
