package signature

import (
	"regexp"
	"strings"
)

// Numbers and addresses in generated names differ from run to run, from JDK to JDK and after every change of the source, so
// signatures do not contain them. Order matters: more specific patterns come first.
var classRules = []struct {
	// has is what a name has in it that the rule changes; most names are in no need of a look by the expression.
	has string
	re  *regexp.Regexp
	to  string
}{
	// Lambda proxies: Foo$$Lambda$14/0x00000008000c0a40 (11–20), Foo$$Lambda/0x00007f… (21+), Foo$$Lambda$14/1234567 (8).
	{`$$Lambda`, regexp.MustCompile(`\$\$Lambda(\$\d+)?([/+.](0x[0-9a-fA-F]+|\d+))?$`), `$$$$Lambda`},
	// Hidden and VM-anonymous classes: Foo/0x0000000800066c00, Foo+0x…, Foo/1234567, and Foo.1234567 by JVMTI's signatures of 8.
	{`0x`, regexp.MustCompile(`[/+.]0x[0-9a-fA-F]+$`), ``},
	{``, regexp.MustCompile(`[/.]\d+$`), ``},
	// LambdaForm$MH001, LambdaForm$DMH003_000_L, LambdaForm$reinvoker012.
	{`LambdaForm$`, regexp.MustCompile(`LambdaForm\$([A-Za-z]+)[0-9_]*[A-Z_]*$`), `LambdaForm$$$1`},
	// java.lang.reflect.Proxy: $Proxy12, com.sun.proxy.$Proxy3 (8–15), jdk.proxy2.$Proxy7 (16+).
	{`$Proxy`, regexp.MustCompile(`^(com\.sun\.proxy|jdk\.proxy\d+)\.\$Proxy\d+$`), `$$Proxy`},
	{`$Proxy`, regexp.MustCompile(`\$Proxy\d+$`), `$$Proxy`},
	// Reflection: GeneratedMethodAccessor12, GeneratedConstructorAccessor3, GeneratedSerializationConstructorAccessor4.
	{`Accessor`, regexp.MustCompile(`(Generated(?:Serialization)?(?:Method|Constructor|Field)Accessor)\d+$`), `$1`},
	// CGLIB, Byte Buddy, Javassist and similar generators: Foo$$EnhancerByX$$1a2b3c4d, Foo$$EnhancerByX$$1a2b$$FastClassByX$$3c4d,
	// Foo$ByteBuddy$aB3dE5fG, Foo$HibernateProxy$aB3dE5fG$auxiliary$x1y2, Foo_$$_jvst4f1_7, Foo$Access4JacksonSerializer1a2b3c4d.
	{`$$`, regexp.MustCompile(`(\$\$\w+By\w+)\$\$[0-9a-f]{1,8}\b`), `$1`},
	{`$$`, regexp.MustCompile(`\$\$[0-9a-f]{6,16}$`), ``},
	{`$`, regexp.MustCompile(`\$(ByteBuddy|MockitoMock|Hibernate(?:Proxy|BasicProxy|Instantiator)|auxiliary)\$[A-Za-z0-9]+`), `$$$1`},
	{`_$$_`, regexp.MustCompile(`_\$\$_(jvst|javassist_?)[0-9a-f]*(_[0-9a-f]+)?$`), `_$$$$_$1`},
	{`Access4Jackson`, regexp.MustCompile(`(\$Access4Jackson\w*izer)[0-9a-f]{4,8}$`), `$1`},
	// Generators that number what they make by chance, by time or by a hash: Class15826008648854827834, Rule_Limit48213,
	// Query_9f86d081884c7d65. What people number themselves has fewer digits (Base64, IBM1047); of longer numbers (Iso20022,
	// IBM33722) there are no two between which bugs differ.
	{``, regexp.MustCompile(`(\pL_?)\d{5,}(\$|$)`), `$1$2`},
	{`_`, regexp.MustCompile(`_[0-9a-f]{12,}(\$|$)`), `$1`},
	// Clojure, by a counter of the whole program: user$eval1234$fn__5678. Groovy's shell, and its closures by their position:
	// Script12, Foo$_run_closure1. Spark's stages, and the REPL's lines: GeneratedClass$GeneratedIteratorForCodegenStage12,
	// $line14.$read.
	{`__`, regexp.MustCompile(`__\d+`), `__`},
	{`$eval`, regexp.MustCompile(`\$eval\d+`), `$$eval`},
	{`Script`, regexp.MustCompile(`^Script\d+(\$|$)`), `Script$1`},
	{`_closure`, regexp.MustCompile(`_closure\d+`), `_closure`},
	{`CodegenStage`, regexp.MustCompile(`(\$GeneratedIteratorForCodegenStage)\d+$`), `$1`},
	{`$line`, regexp.MustCompile(`^\$line\d+\.`), `$$line.`},
}

var (
	// Anonymous and local classes of Java, Scala and Kotlin: Foo$1, Foo$1Local, Foo$$anon$3, Foo$bar$1$2.
	anonymousRE = regexp.MustCompile(`\$\d+`)
	// lambda$main$0 (javac), $anonfun$run$12 (scalac), foo$1 (nested functions of scalac, lambdas of kotlinc), access$000.
	methodRE = regexp.MustCompile(`\$\d+`)
)

// moved gives classes their newest name, so that the same code has one name on JDK 8 and 9+: the accessors of reflection moved to
// another package.
var moved = strings.NewReplacer(
	"sun.reflect.Native", "jdk.internal.reflect.Native", "sun.reflect.Generated", "jdk.internal.reflect.Generated",
	"sun.reflect.Delegating", "jdk.internal.reflect.Delegating",
)

// Class normalises the name of a class.
func Class(name string) string {
	for _, r := range classRules {
		if strings.Contains(name, r.has) {
			name = r.re.ReplaceAllString(name, r.to)
		}
	}
	return anonymousRE.ReplaceAllString(moved.Replace(name), "$$#")
}

// Method normalises the name of a method.
func Method(name string) string { return methodRE.ReplaceAllString(name, "$$#") }
