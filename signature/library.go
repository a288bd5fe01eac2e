package signature

import (
	"regexp"
	"strings"
)

// Java libraries carry native code in their archives and unpack it at run time, most into files of java.io.File.createTempFile: a
// prefix, a random number and a suffix. Others put a UUID or a digest of the content into the name. None of that belongs to a bug,
// nor does a library's version; its name and its architecture do:
//
//	libjavaProfiler16018171302964888844.so                                libjavaProfiler.so
//	libnetty_transport_native_epoll_x86_647532342.so                      libnetty_transport_native_epoll_x86_64.so
//	snappy-1.1.8-6c0a3b52-2f0e-4d0a-8a39-0d6a6d4b9c1e-libsnappyjava.so    snappy-libsnappyjava.so
//	jna8912733461.tmp                                                     jna.tmp
var (
	uuidRE = regexp.MustCompile(`(?i)[-_.]?[0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}`)
	// versionRE matches versions: libc-2.31.so, libssl.so.1.1, libc++.1.dylib, libzstd-jni-1.5.2-3.so.
	versionRE = regexp.MustCompile(`[-_]v?\d+(\.\d+)+(-\d{1,3})?(?:[-_.](?:SNAPSHOT|RELEASE|Final|GA))?([-_.]|$)|` +
		`((?:\.so)|(?:\.dylib))(?:\.\d+)+$|(?:\.\d+)+(\.dylib)$`)
	// numberedRE matches an architecture that a random number follows without a separator.
	numberedRE = regexp.MustCompile(`(?i)(x86_64|x86_32|amd64|aarch_64|aarch64|arm64|arm32|armv[5-8]|i[3-6]86|x86|x64|` +
		`ppcle_64|ppc64|s390_64|riscv64|loongarch_?64|(?:win|linux|osx|mac)(?:32|64))\d{3,}`)
	numberRE   = regexp.MustCompile(`[-_.]?\d{4,}`)
	digestRE   = regexp.MustCompile(`[-_.][0-9a-f]*\d[0-9a-f]*(?:\b|_)|[-_.][0-9A-F]*\d[0-9A-F]*(?:\b|_)|\d[0-9a-f]{15,}`)
	tempEndRE  = regexp.MustCompile(`(\.(?:so|dylib|dll))[-._][A-Za-z0-9]{6,10}$`)
	tempNameRE = regexp.MustCompile(`^tmp[-_.]?[A-Za-z0-9_]{6,10}(\.|$)`)
)

const minDigest = 7 // hexadecimal digits: the short form of git's digests

func notDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// LibraryName returns the name of a native library without what a run or a release made up.
func LibraryName(file string) string {
	s := strings.TrimSpace(strings.TrimSuffix(file, " (deleted)"))
	s = uuidRE.ReplaceAllString(s, "")
	for range 2 { // two versions may share a separator
		s = versionRE.ReplaceAllString(s, "$3$4$5")
	}
	s = numberedRE.ReplaceAllString(s, "$1")
	s = digestRE.ReplaceAllStringFunc(s, func(token string) string {
		hex := strings.TrimSuffix(token, "_")
		digits := len(hex) - len(strings.Map(notDigit, hex))
		if len(hex) <= minDigest || digits < 2 {
			return token
		}
		return token[len(hex):]
	})
	s = numberRE.ReplaceAllString(s, "")
	s = tempEndRE.ReplaceAllString(s, "$1")
	s = strings.TrimLeft(tempNameRE.ReplaceAllString(s, "tmp$1"), "-_")
	if s == "" || s[0] == '.' {
		return "*" + s
	}
	return s
}

// runtimeRE matches the C library, the dynamic linker and the C++ runtime of Linux (glibc, musl), macOS and Windows, by the names
// that LibraryName returns. They do what their callers tell them.
var runtimeRE = regexp.MustCompile(`(?i)^(libc|libpthread|ld|ld-linux.*|ld-musl.*|libc\.musl.*|linux-vdso(?:64)?|linux-gate|` +
	`libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libsystem_\w+|libSystem|libSystem\.B|dyld|libdyld|` +
	`ntdll|kernel32|kernelbase|msvcrt|ucrtbased?|vcruntime\w*|msvc[pr]\w*)(\.so|\.dylib|\.dll)?$`)
