package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFunctionName(t *testing.T) {
	for symbol, want := range map[string]string{
		"frame::sender(RegisterMap*) const": "frame::sender",
		"frame::sender":                     "frame::sender",
		"void G1ScanClosure::do_oop_work<unsigned int>(unsigned int*)":      "G1ScanClosure::do_oop_work",
		"void G1ScanClosure::do_oop_work<oop>(oop*)":                        "G1ScanClosure::do_oop_work",
		"G1ScanClosure::do_oop_work":                                        "G1ScanClosure::do_oop_work",
		"GrowableArray<Handle>* f<true, GrowableArray<int>*>(Handle) const": "f",
		"unsigned long std::hash<int>::operator()(int) const":               "std::hash::operator()",
		"Chunk::operator new(unsigned long, AllocFailType)":                 "Chunk::operator new",
		"operator delete(void*)":                                            "operator delete",
		"std::ostream& operator<< <char>(std::ostream&, char)":              "operator<<",
		"Handle::operator->() const":                                        "Handle::operator->",
		"(anonymous namespace)::f(int)":                                     "f",
		"forte_fill_call_trace_given_top(JavaThread*, int) [clone .isra.0]": "forte_fill_call_trace_given_top",
		"pthread_cond_wait@@GLIBC_2.3.2":                                    "pthread_cond_wait",
		"core::ptr::drop_in_place::h0123456789abcdef":                       "core::ptr::drop_in_place",
		"<signal handler called>":                                           "<signal handler called>",
		"-[NSView drawRect:]":                                               "-[NSView drawRect:]",
		"f<unfinished":                                                      "f",
		"":                                                                  "",
	} {
		assert.Equal(t, want, Frame{Kind: VMFrame, Function: symbol}.FunctionName(), symbol)
	}
}

// Variants of glibc (x86-64, aarch64, ppc64, s390), of musl and macOS.
func TestPlainCName(t *testing.T) {
	for name, want := range map[string]string{
		"__memcpy_avx_unaligned_erms": "memcpy", "__memcpy_ssse3": "memcpy", "__memcpy_ssse3_back": "memcpy",
		"__memmove_avx_unaligned_erms": "memcpy", "__memmove_avx512_no_vzeroupper": "memcpy", "__memcpy_generic": "memcpy",
		"__memcpy_thunderx2": "memcpy", "__memcpy_power7": "memcpy", "_platform_memmove$VARIANT$Haswell": "memcpy", "memcpy": "memcpy",
		"__strlen_avx2": "strlen", "__strlen_evex": "strlen", "__strlen_asimd": "strlen", "strlen": "strlen",
		"__memset_zva64": "memset", "__memset_sse2_unaligned_erms": "memset", "__strcmp_sse42": "strcmp",
		"__GI_raise": "raise", "__GI___libc_free": "free", "__libc_malloc": "malloc", "_int_malloc": "int_malloc",
		"pthread_cond_wait": "pthread_cond_wait", "__pthread_kill_implementation": "pthread_kill_implementation", "": "",
	} {
		assert.Equal(t, want, PlainCName(name), name)
	}
}
