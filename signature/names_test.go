package signature

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// What a rule's name must have in it keeps no name from a rule that changes it.
func TestClassRulesHave(t *testing.T) {
	changed := map[int]bool{}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a.Foo", ".", "/", "+", "$", "$$", "1", "12", "0x", "00ff80c0", "Lambda", "LambdaForm", "MH", "_L", "jdk.proxy", "com.sun.proxy",
			"Proxy", "Generated", "Serialization", "Method", "Constructor", "Field", "Accessor", "ByteBuddy", "MockitoMock", "aB3dE5fG",
			"FastClassByX", "_$$_jvst", "Access4JacksonSerializer", "15826008648854827834", "_", "9f86d081884c7d65",
		}), 1, 7).Draw(t, "parts"), "")
		for i, r := range classRules {
			if after := r.re.ReplaceAllString(name, r.to); after != name {
				changed[i] = true
				assert.Contains(t, name, r.has, "rule %d", i)
			}
		}
	})
	for _, name := range []string{
		"Foo$$Lambda$14/0x00000008000c0a40", "Foo/0x0000000800066c00", "Foo.1234567", "LambdaForm$DMH003_000_L", "jdk.proxy2.$Proxy7",
		"$Proxy12", "GeneratedMethodAccessor12", "Foo$$EnhancerByX$$1a2b3c4d", "Foo$ByteBuddy$aB3dE5fG",
		"Foo$$EnhancerByX$$1a2b$$FastClassByX$$3c4d", "Foo$$f00dfeed", "Foo_$$_jvst4f1_7", "Foo$Access4JacksonSerializer1a2b3c4d",
		"Class15826008648854827834", "Query_9f86d081884c7d65", "user$eval12$fn__345", "Script12", "Foo$_run_closure1",
		"GeneratedClass$GeneratedIteratorForCodegenStage12", "$line14.$read",
	} {
		for i, r := range classRules {
			if r.re.ReplaceAllString(name, r.to) != name {
				changed[i] = true
				assert.Contains(t, name, r.has, "rule %d", i)
			}
		}
	}
	assert.Len(t, changed, len(classRules), "each rule was tried")
}

// What a generator makes up for each run is no part of a name; what people wrote is.
func TestGeneratedClasses(t *testing.T) {
	for _, same := range [][]string{
		{"demo.gen.Class15826008648854827834", "demo.gen.Class7310582", "demo.gen.Class"},
		{"demo.Rule_Limit48213", "demo.Rule_Limit10007"},
		{"a.Query_9f86d081884c7d65", "a.Query_00aa11bb22cc33dd"},
		{"a.S$$EnhancerBySpringCGLIB$$8e3f1", "a.S$$EnhancerBySpringCGLIB$$7c0a11d2"},
		{"a.S$$EnhancerByCGLIB$$8e3f1$$FastClassByCGLIB$$1a2b", "a.S$$EnhancerByCGLIB$$c0ffee$$FastClassByCGLIB$$9f0e1d2c"},
		{"a.E$HibernateProxy$aB3dE5fG", "a.E$HibernateProxy$Zx81kQpL"},
		{"a.E$ByteBuddy$aB3dE5fG$auxiliary$x1y2", "a.E$ByteBuddy$Q81kQpLz$auxiliary$k2j3"},
		{"a.Foo_$$_jvst4f1_7", "a.Foo_$$_jvste02_0"},
		{"a.Foo_$$_javassist_12", "a.Foo_$$_javassist_3"},
		{"a.B$Access4JacksonSerializer1a2b3c4d", "a.B$Access4JacksonSerializer77e1"},
		{"com.sun.proxy.$Proxy12", "jdk.proxy2.$Proxy3"},
		{"Gen+0x00007faf41000400", "Gen/0x000000002a040a00"},
		{"demo.Class15826008648854827834$Inner", "demo.Class7310582$Inner"},
		{"user$eval1234$fn__5678", "user$eval9$fn__10"},
		{"core$walk__12__auto____345", "core$walk__6789__auto____1"},
		{"Script1", "Script27"},
		{"Script1$_run_closure2", "Script27$_run_closure3"},
		{
			"org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1",
			"org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage12",
		},
		{"$line14.$read$$iw", "$line3.$read$$iw"},
	} {
		for _, name := range same {
			assert.Equal(t, Class(same[0]), Class(name), name)
		}
	}
	for _, apart := range []string{
		"java.util.Base64", "sun.nio.cs.ISO_8859_15", "sun.nio.cs.MS1252", "sun.nio.cs.IBM1047", "a.Vec3", "a.Md5", "a.Sha256",
		"a.Version2024", "a.Foo_cafe", "a.Matrix4x4", "a.Http2", "a.X509", "a.Utf8",
	} {
		assert.Equal(t, apart, Class(apart))
	}
	for _, pair := range [][2]string{
		{"a.Sha256", "a.Sha512"},
		{"a.E$HibernateProxy$aB3dE5fG", "a.F$HibernateProxy$aB3dE5fG"},
		{"a.S$$EnhancerBySpringCGLIB$$8e3f1", "a.T$$EnhancerBySpringCGLIB$$8e3f1"},
		{"demo.Class15826008648854827834", "demo.Other15826008648854827834"},
		{"a.Report2023", "a.Report2024"},
	} {
		assert.NotEqual(t, Class(pair[0]), Class(pair[1]))
	}
}
