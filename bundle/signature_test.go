package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keygen makes a key pair with OpenSSH's own program, which also judges our signatures.
func keygen(t *testing.T, arguments ...string) (private, public string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen here; install openssh-client")
	}
	private = filepath.Join(t.TempDir(), "key")
	out, err := exec.Command("ssh-keygen", append([]string{"-q", "-f", private, "-C", "test"}, arguments...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(private + ".pub")
	require.NoError(t, err)
	return private, strings.TrimSpace(string(text))
}

func signers(t *testing.T, lines ...string) *Signers {
	t.Helper()
	file := filepath.Join(t.TempDir(), "allowed")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s, err := LoadSigners(file)
	require.NoError(t, err)
	return s
}

func TestSignatures(t *testing.T) {
	data := build(t, sample(t))
	for _, kind := range [][]string{{"-t", "ed25519", "-N", ""}, {"-t", "rsa", "-b", "3072", "-N", ""}, {"-t", "ecdsa", "-N", ""}} {
		private, public := keygen(t, kind...)
		key, err := LoadKey(private)
		require.NoError(t, err)
		signature, err := Sign(bytes.NewReader(data), key)
		require.NoError(t, err)
		if kind[1] != "ecdsa" {
			again, err := Sign(bytes.NewReader(data), key)
			require.NoError(t, err)
			assert.Equal(t, signature, again)
		}
		trusted := signers(t, "# people", "", "jane@example.org,j "+public)
		names, err := trusted.Verify(bytes.NewReader(data), signature)
		require.NoError(t, err)
		assert.Equal(t, "jane@example.org,j", names)

		// ssh-keygen agrees.
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sig"), signature, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "allowed"), []byte("jane "+public+"\n"), 0o600))
		verify := exec.Command(
			"ssh-keygen",
			"-Y",
			"verify",
			"-f",
			filepath.Join(dir, "allowed"),
			"-I",
			"jane",
			"-n",
			SignatureNamespace,
			"-s",
			filepath.Join(dir, "sig"),
		)
		verify.Stdin = bytes.NewReader(data)
		out, err := verify.CombinedOutput()
		require.NoError(t, err, string(out))

		// One bit of the bundle, one of the signature.
		data[len(data)/2] ^= 1
		_, err = trusted.Verify(bytes.NewReader(data), signature)
		require.ErrorContains(t, err, "does not fit")
		data[len(data)/2] ^= 1
		signature[len(signature)/2] ^= 1
		_, err = trusted.Verify(bytes.NewReader(data), signature)
		require.Error(t, err)
		signature[len(signature)/2] ^= 1

		_, err = signers(t).Verify(bytes.NewReader(data), signature)
		require.ErrorIs(t, err, ErrUntrusted)
		_, err = signers(t, `jane namespaces="git" `+public).Verify(bytes.NewReader(data), signature)
		require.ErrorIs(t, err, ErrUntrusted)
		_, err = signers(t, `jane namespaces="git,misstep-*" `+public).Verify(bytes.NewReader(data), signature)
		require.NoError(t, err)
		_, err = trusted.Verify(bytes.NewReader(data), nil)
		require.ErrorIs(t, err, ErrUnsigned)
		_, err = trusted.Verify(bytes.NewReader(data), make([]byte, MaxSignature+1))
		require.ErrorContains(t, err, "more than")
	}
}

// TestASignatureOfAnotherKindIsNone has a good signature by a trusted key over the same bytes, made for git.
func TestASignatureOfAnotherKindIsNone(t *testing.T) {
	private, public := keygen(t, "-t", "ed25519", "-N", "")
	file := filepath.Join(t.TempDir(), "f.zip")
	require.NoError(t, os.WriteFile(file, []byte("bytes"), 0o600))
	out, err := exec.Command("ssh-keygen", "-Y", "sign", "-f", private, "-n", "git", file).CombinedOutput()
	require.NoError(t, err, string(out))
	signature, err := ReadSignature(file)
	require.NoError(t, err)
	require.NotEmpty(t, signature)
	_, err = signers(t, "jane "+public).Verify(strings.NewReader("bytes"), signature)
	require.ErrorContains(t, err, "does not fit")
}

func TestBadKeysAreSaid(t *testing.T) {
	locked, _ := keygen(t, "-t", "ed25519", "-N", "secret words")
	_, err := LoadKey(locked)
	require.ErrorContains(t, err, "has a passphrase")
	_, err = LoadKey("signature.go")
	require.ErrorContains(t, err, "expected a private key")
	_, err = LoadKey(filepath.Join(t.TempDir(), "gone"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, public := keygen(t, "-t", "ed25519", "-N", "")
	for text, want := range map[string]string{
		"jane":                            "line 1: expected NAMES",
		"\njane ssh-ed25519 AAAA":         "line 2: expected NAMES",
		"jane cert-authority " + public:   `unknown option "cert-authority"`,
		strings.Repeat("#", maxSigners+1): "more than",
	} {
		_, err := parseSigners([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzSignatures(f *testing.F) {
	f.Add(
		[]byte("jane namespaces=\"a\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"),
		[]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"),
	)
	f.Fuzz(func(t *testing.T, trusted, signature []byte) {
		entries, err := parseSigners(trusted)
		if err != nil {
			return
		}
		// No fuzzed signature is one of a key's over these bytes.
		_, err = (&Signers{entries: entries}).Verify(strings.NewReader("bytes"), signature)
		require.Error(t, err)
	})
}
