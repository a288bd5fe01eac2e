package kernel

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChooseFromWhatAptShows(t *testing.T) {
	out, err := os.ReadFile("testdata/show.txt")
	require.NoError(t, err)
	packages, err := parsePackages(out)
	require.NoError(t, err)
	release, chosen, err := choose(packages)
	require.NoError(t, err)
	assert.Equal(t, "7.2.13+deb14-cloud-amd64", release)
	require.Len(t, chosen, 3)
	assert.Equal(t, Package{
		Name: "linux-binary-7.2.13+deb14-cloud-amd64", Version: "7.2.13-1", Size: 13717736,
		SHA256: "03e41f1c34c16583462f029e81944a85ebcdb78098c258dedfa1cfdd680a27f8",
	}, chosen[0])
	assert.Equal(t, "linux-modules-7.2.13+deb14-cloud-amd64", chosen[1].Name)
	assert.Equal(t, "linux-base-7.2.13+deb14-cloud-amd64", chosen[2].Name)
}

func TestChoose(t *testing.T) {
	names := func(all ...string) (packages []Package) {
		for _, name := range all {
			packages = append(packages, Package{Name: name, Version: "1"})
		}
		return packages
	}
	for _, c := range []struct {
		name, release string
		given, chosen []Package
	}{
		{
			"the newest, by number and not by letters", "7.10.1+deb14-cloud-amd64",
			names("linux-binary-7.9.3+deb14-cloud-amd64", "linux-binary-7.10.1+deb14-cloud-amd64",
				"linux-modules-7.10.1+deb14-cloud-amd64"),
			names("linux-binary-7.10.1+deb14-cloud-amd64", "linux-modules-7.10.1+deb14-cloud-amd64"),
		},
		{
			"one package, as before 7", "6.16.3+deb14-cloud-amd64",
			names("linux-image-6.16.3+deb14-cloud-amd64", "linux-image-6.16.3+deb14-cloud-amd64-dbg", "linux-image-cloud-amd64"),
			names("linux-image-6.16.3+deb14-cloud-amd64"),
		},
		{
			"no candidate of modules alone", "7.2.13+deb14-cloud-amd64",
			names("linux-modules-7.3.1+deb14-cloud-amd64", "linux-binary-7.2.13+deb14-cloud-amd64",
				"linux-binary-unsigned-7.3.1+deb14-cloud-amd64"),
			names("linux-binary-7.2.13+deb14-cloud-amd64"),
		},
		{
			"a release after its candidates", "7.3+deb14-cloud-amd64",
			names("linux-binary-7.3~rc4+deb14-cloud-amd64", "linux-binary-7.3+deb14-cloud-amd64"),
			names("linux-binary-7.3+deb14-cloud-amd64"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			release, chosen, err := choose(c.given)
			require.NoError(t, err)
			assert.Equal(t, c.release, release)
			assert.Equal(t, c.chosen, chosen)
		})
	}
	release, _, err := choose([]Package{
		{Name: "linux-binary-7.3-cloud-amd64", Version: "7.3~rc7-1~exp1"},
		{Name: "linux-binary-7.3+deb14-cloud-amd64", Version: "7.3-1~exp1"},
	})
	require.NoError(t, err)
	assert.Equal(t, "7.3+deb14-cloud-amd64", release, "as experimental names them")
	_, _, err = choose(names("linux-image-amd64", "linux-doc"))
	require.ErrorContains(t, err, "no cloud kernel")
}

func TestParsePackagesRefusesNonsense(t *testing.T) {
	_, err := parsePackages([]byte("Package: a\nSize: many\n"))
	require.ErrorContains(t, err, "size of a")
	_, err = parsePackages([]byte("Package: a\nSize: 1\n"))
	require.ErrorContains(t, err, "no version")
	packages, err := parsePackages(nil)
	require.NoError(t, err)
	assert.Empty(t, packages)
}

func TestCompareVersionsAgreesWithDpkg(t *testing.T) {
	versions := []string{
		"7.2.13-1", "7.2.9-1", "7.10-1", "7.2.13-1~bpo12+1", "7.2.13+deb14", "7.2.13", "7.2.13~rc1", "7.02.13",
		"7a", "7+", "7.",
	}
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skipf("no dpkg to compare with: %v", err)
	}
	for _, a := range versions {
		for _, b := range versions {
			want := 0
			if exec.Command(dpkg, "--compare-versions", a, "lt", b).Run() == nil {
				want = -1
			} else if exec.Command(dpkg, "--compare-versions", a, "gt", b).Run() == nil {
				want = 1
			}
			got := compareVersions(a, b)
			assert.Equal(t, want, sign(got), "%q and %q", a, b)
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
