package access

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	misstepv1 "misstep/proto/misstep/v1"
)

// Method is what the proto says about a call.
type Method struct {
	// Roles of which the caller needs one; none refuses everybody.
	Roles []misstepv1.Role
	// ByProject means that the call is in one project, and a role there will do.
	ByProject bool
	// Audited means that the audit log records each call.
	Audited bool
}

// foreign are the services that are not Misstep's, by prefix of their methods. Health says only whether a coordinator serves, and
// clients ask it before they have a credential to choose a coordinator to log in at. Reflection is for those who look around.
var foreign = map[string]misstepv1.Role{
	"/grpc.health.v1.Health/":                    misstepv1.Role_ROLE_ANYONE,
	"/grpc.reflection.v1.ServerReflection/":      misstepv1.Role_ROLE_ADMIN,
	"/grpc.reflection.v1alpha.ServerReflection/": misstepv1.Role_ROLE_ADMIN,
}

var known sync.Map // Method by full name

// MethodOf returns what the proto says about a call by its full name, such as "/misstep.v1.AdminService/GetFinding". An unknown
// call needs a role that nobody has.
func MethodOf(name string) Method {
	if m, ok := known.Load(name); ok {
		return m.(Method)
	}
	m, found := describe(name)
	if found { // what is unknown is not kept: callers choose the names
		known.Store(name, m)
	}
	return m
}

// named reports whether a name is that of a call, or of a service that is not Misstep's.
func named(name string) bool {
	m, found := describe(name)
	return found || m.Roles != nil
}

func describe(name string) (m Method, found bool) {
	for prefix, role := range foreign {
		if strings.HasPrefix(name, prefix) {
			return Method{Roles: []misstepv1.Role{role}}, false
		}
	}
	full := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "."))
	if !full.IsValid() {
		return Method{}, false
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	if err != nil {
		return Method{}, false
	}
	method, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return Method{}, false
	}
	return Describe(method), true
}

// Describe returns what the options of a call say.
func Describe(method protoreflect.MethodDescriptor) Method {
	options := method.Options()
	roles, _ := proto.GetExtension(options, misstepv1.E_Role).([]misstepv1.Role)
	byProject, _ := proto.GetExtension(options, misstepv1.E_ByProject).(bool)
	audited, _ := proto.GetExtension(options, misstepv1.E_Audited).(bool)
	return Method{Roles: roles, ByProject: byProject, Audited: audited}
}

// Services returns the services of Misstep's own proto files, by name.
func Services() (all []protoreflect.ServiceDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("misstep.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			all = append(all, f.Services().Get(i))
		}
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.ServiceDescriptor) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}
