package edges

import "strings"

// Classes of the rule method-handle.
const (
	methodHandle = "java.lang.invoke.MethodHandle"
	guards       = "java.lang.invoke.VarHandleGuards"
	invokers     = "java.lang.invoke."
)

// shape returns the types of a descriptor as method handles see them (LambdaForm.BasicType): L for references, I for int and what
// is smaller, J, F, D, V; ) before the result.
func shape(descriptor string) string {
	var b strings.Builder
	rest := strings.TrimPrefix(descriptor, "(")
	for rest != "" {
		c := rest[0]
		rest = strings.TrimLeft(rest, "[")
		switch {
		case rest == "":
		case rest[0] == 'L':
			_, rest, _ = strings.Cut(rest, ";")
		default:
			rest = rest[1:]
		}
		switch c {
		case '[', 'L':
			c = 'L'
		case 'Z', 'B', 'C', 'S':
			c = 'I'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// handleCalls reports whether a signature-polymorphic site in caller can lead to this method.
func handleCalls(caller *version, t *target, callee *version) bool {
	linker := t.owner != nil && strings.HasPrefix(t.name, "linkTo")
	if !linker && (t.owner == nil || t.name != "invokeBasic") {
		// Linkers and adapters of java.lang.invoke stand between all other sites and what the handle is for.
		return strings.HasPrefix(callee.class.name, invokers)
	}
	if callee.class.name == methodHandle && callee.name == t.name { // the intrinsic's own code
		return true
	}
	if t.name == "linkToNative" { // native code may call back into anything
		return true
	}
	asked, has := shape(t.descriptor), shape(callee.descriptor)
	if !callee.static {
		has = "L" + has
	}
	if linker {
		arguments, result, found := strings.Cut(asked, ")")
		if !found || !strings.HasSuffix(arguments, "L") { // the last argument is the MemberName, which is not passed on
			return false
		}
		asked = strings.TrimSuffix(arguments, "L") + ")" + result
	} else {
		asked = "L" + asked // the handle itself
	}
	// A VarHandle's access whose result the program drops comes to a guard for void (VarHandleGuards.java:
	// VarForm.getMethodType_V), which links to the method with the result all the same.
	if caller.class.name == guards && strings.HasSuffix(asked, ")V") && len(has) == len(asked) {
		has = has[:len(has)-1] + "V"
	}
	return asked == has
}
