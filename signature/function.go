package signature

import (
	"regexp"
	"strings"
)

var (
	cloneRE = regexp.MustCompile(`(\.(part|constprop|isra|cold|lto_priv|llvm)(\.\d+)*)+$|\s*\[clone [^\]]*\]|` +
		`::h[0-9a-f]{16}$|@+(GLIBC|plt)\S*$`)
	anonymousNSE = regexp.MustCompile(`\(anonymous namespace\)::`)
)

// FunctionName returns the name in a VM or C frame's demangled symbol, without return type, parameters, template arguments,
// qualifiers and the suffixes of cloned functions: compilers and demanglers give more or less of these.
func (f Frame) FunctionName() string {
	s := anonymousNSE.ReplaceAllString(cloneRE.ReplaceAllString(f.Function, ""), "")
	if strings.HasPrefix(s, "<") || strings.HasPrefix(s, "-[") || strings.HasPrefix(s, "+[") {
		return s // "<signal handler called>", methods of Objective-C
	}
	s = withoutTemplates(operatorSigns.Replace(s))
	operator := operatorAt(s)
	from := max(0, operator)
	if operator >= 0 && strings.HasPrefix(s[operator:], "operator()") {
		from += len("operator()")
	}
	if i := strings.IndexByte(s[from:], '('); i >= 0 && from+i > 0 {
		s = s[:from+i]
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), " const")
	last := len(s)
	if operator >= 0 { // "operator new" is one word
		last = operator
	}
	s = strings.TrimLeft(s[strings.LastIndexByte(s[:last], ' ')+1:], "*&")
	return operatorNames.Replace(s)
}

// operatorSigns hides the angle brackets in the names of operators, operatorNames restores them.
var (
	operatorSigns = strings.NewReplacer(
		"operator<=>", "operator\x01=\x02", "operator<<", "operator\x01\x01", "operator<=", "operator\x01=",
		"operator<", "operator\x01", "operator->", "operator-\x02", "operator>>", "operator\x02\x02", "operator>", "operator\x02",
	)
	operatorNames = strings.NewReplacer("\x01", "<", "\x02", ">")
)

var operatorRE = regexp.MustCompile(`(?:^|[\s:])operator\b`)

// operatorAt returns where the name of an operator begins in a symbol without template arguments, -1 if the function is none.
func operatorAt(s string) int {
	m := operatorRE.FindStringIndex(s)
	if m == nil || strings.IndexByte(s[:m[0]], '(') >= 0 { // an operator that a parameter names
		return -1
	}
	return m[1] - len("operator")
}

// withoutTemplates removes template arguments, nested ones too.
func withoutTemplates(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	depth := 0
	for _, r := range s {
		switch {
		case r == '<':
			depth++
		case r == '>':
			depth = max(0, depth-1)
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// variantRE matches what the C libraries append to the name of a function that they have once for each kind of CPU (glibc:
// sysdeps/*/multiarch, macOS: libplatform).
var variantRE = regexp.MustCompile(`\$VARIANT\$\w+$|(?:_(?:avx|avx2|avx512|evex|evex256|evex512|sse2|sse3|ssse3|sse4|sse42|` +
	`sse4_1|sse4_2|unaligned|aligned|erms|rtm|no_vzeroupper|vzeroupper|back|generic|base|ia32|i586|i686|` +
	`asimd|neon|mte|mops|sve|a64fx|zva64|zva|emag|kunpeng920|falkor|thunderx|thunderx2|cortex|altivec|vsx|power\d+\w*|ppc|z10|z13|z196|vx|lasx|lsx|rvv|fma|fma4))+$`)

// sameCode are functions of the C library that share their code. In glibc, memcpy is another name of memmove's code for most kinds
// of CPUs, so that a report has either.
var sameCode = map[string]string{"memmove": "memcpy", "mempcpy": "memcpy", "bcopy": "memcpy"}

// PlainCName returns the name under which programs call a function of the C library: "memcpy" for "__memcpy_avx_unaligned_erms",
// "__memmove_ssse3" and "_platform_memmove$VARIANT$Haswell".
func PlainCName(name string) string {
	s := variantRE.ReplaceAllString(name, "")
	for _, prefix := range []string{"_platform_", "__GI_", "__GI_", "__libc_", "__"} {
		s = strings.TrimPrefix(s, prefix)
	}
	s = strings.TrimLeft(s, "_")
	if same, ok := sameCode[s]; ok {
		return same
	}
	if s == "" {
		return name
	}
	return s
}
