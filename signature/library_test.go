package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Names under which Java libraries unpack their native code, and names of libraries that are installed.
func TestLibraryName(t *testing.T) {
	for file, want := range map[string]string{
		"libdemoProfiler16018171302964888844.so":                             "libdemoProfiler.so",
		"libdemoProfiler8298632684405129428.so":                              "libdemoProfiler.so",
		"libasyncProfiler-ab12cd34ef56.so":                                   "libasyncProfiler.so",
		"libasyncProfiler-linux-x64-4f2a1b9c.so":                             "libasyncProfiler-linux-x64.so",
		"DemoJniLibrary5656461273075369895.tmp":                              "DemoJniLibrary.tmp",
		"jna8912733461283.tmp":                                               "jna.tmp",
		"jffi7512345678901234567.so":                                         "jffi.so",
		"libnetty_transport_native_epoll_x86_647532342.so":                   "libnetty_transport_native_epoll_x86_64.so",
		"libnetty_transport_native_epoll_x86_64.so":                          "libnetty_transport_native_epoll_x86_64.so",
		"libnetty_tcnative_linux_aarch_6412345678.so":                        "libnetty_tcnative_linux_aarch_64.so",
		"libconscrypt_openjdk_jni-linux-x86_641234567890.so":                 "libconscrypt_openjdk_jni-linux-x86_64.so",
		"librocksdbjni-linux64987654321.so":                                  "librocksdbjni-linux64.so",
		"snappy-1.1.8-6c0a3b52-2f0e-4d0a-8a39-0d6a6d4b9c1e-libsnappyjava.so": "snappy-libsnappyjava.so",
		"sqlite-3.36.0.3-6c0a3b522f0e4d0a8a390d6a6d4b9c1e-libsqlitejdbc.so":  "sqlite-libsqlitejdbc.so",
		"jansi-2.4.0-a1b2c3d4e5f60718-libjansi.so":                           "jansi-libjansi.so",
		"libzstd-jni-1.5.2-31234567890123.so":                                "libzstd-jni.so",
		"libzstd-jni-1.5.2-3.so":                                             "libzstd-jni.so",
		"liblz4-java-1234567890123456.so":                                    "liblz4-java.so",
		"libbrotli1029384756.so":                                             "libbrotli.so",
		"libdemo_ab12cd34_x.so":                                              "libdemo_x.so",
		"libdemo.so.Xa93kQ":                                                  "libdemo.so",
		"libdemo.so.12345.tmp":                                               "libdemo.so.tmp",
		"tmpab12cd_3.so":                                                     "tmp.so",
		"libdemo_arm64-4f2a1b9.dylib":                                        "libdemo_arm64.dylib",
		"demo-win32-x86-64-1029384756.dll":                                   "demo-win32-x86-64.dll",
		"opencv_java455.dll":                                                 "opencv_java455.dll",
		"1234567890.so":                                                      "*.so",
		"libc.so.6":                                                          "libc.so",
		"libc-2.31.so":                                                       "libc.so",
		"ld-linux-x86-64.so.2":                                               "ld-linux-x86-64.so",
		"ld-musl-aarch64.so.1":                                               "ld-musl-aarch64.so",
		"libstdc++.so.6.0.28":                                                "libstdc++.so",
		"libc++.1.dylib":                                                     "libc++.dylib",
		"libssl.so.1.1":                                                      "libssl.so",
		"vcruntime140.dll":                                                   "vcruntime140.dll",
		"libjvm.so":                                                          "libjvm.so",
		"jvm.dll":                                                            "jvm.dll",
		"libawt_xawt.so":                                                     "libawt_xawt.so",
		"libjava2d.so":                                                       "libjava2d.so",
		"libnet.so (deleted)":                                                "libnet.so",
	} {
		assert.Equal(t, want, LibraryName(file))
		assert.Equal(t, want, LibraryName(want), "once is enough")
	}
}

func TestRuntime(t *testing.T) {
	for _, library := range []string{
		"libc.so.6", "libc-2.17.so", "libpthread-2.17.so", "ld-musl-x86_64.so.1", "libc.musl-x86_64.so.1", "libsystem_platform.dylib",
		"libsystem_malloc.dylib", "ntdll.dll", "ucrtbase.dll", "VCRUNTIME140.dll", "msvcr100.dll", "KERNELBASE.dll",
		"linux-vdso.so.1", "libstdc++.so.6",
	} {
		assert.True(t, Frame{Kind: CFrame, Library: library}.Runtime(), library)
	}
	for _, library := range []string{"libcrypto.so.1.1", "libzip.so", "libjvm.so", "jvm.dll", "libclient.so", ""} {
		assert.False(t, Frame{Kind: CFrame, Library: library}.Runtime(), library)
	}
}
