package access_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/access"
	"misstep/internal/reference"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// The page has every call with the roles that the proto names.
func TestReferenceOfAccess(t *testing.T) {
	schema, err := reference.Load(filepath.Join(testenv.Root(), "proto", "misstep", "v1"))
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(reference.Generated + "# Access\n\n" + reference.Paragraph("Where a coordinator asks who calls "+
		"([how to](../howto/people.md)), each call needs a role, in every project unless the table says by project: then a role "+
		"in the project that the call is about will do. The audit log has the calls that it is said to, and each call that was "+
		"refused.") +
		"\n\n## Roles\n\n| role | what it may do |\n|---|---|\n")
	for _, v := range schema.Enums["Role"].Values {
		role, _ := access.ParseRole(strings.ToLower(strings.TrimPrefix(v.Name, "ROLE_")))
		if role != 0 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", access.RoleName(role), reference.Cell(strings.TrimPrefix(v.Doc, v.Name+" ")))
		}
	}
	for _, service := range access.Services() {
		fmt.Fprintf(&b, "\n## %s\n\n| call | needs | by project | in the log |\n|---|---|---|---|\n", service.Name())
		for i := range service.Methods().Len() {
			m := access.Describe(service.Methods().Get(i))
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", service.Methods().Get(i).Name(), needs(m.Roles), mark(m.ByProject), mark(m.Audited))
		}
	}
	b.WriteString("\n## Others\n\n" + reference.Paragraph("gRPC's health service needs no credential: it says only whether the "+
		"coordinator serves, and clients ask it to choose one. Reflection needs `admin`.") + "\n")
	reference.Hold(t, testenv.Root(), "access.md", b.String())
}

func mark(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func needs(roles []misstepv1.Role) string {
	var words []string
	for _, r := range roles {
		switch r {
		case misstepv1.Role_ROLE_ANYONE:
			words = append(words, "nothing")
		case misstepv1.Role_ROLE_AUTHENTICATED:
			words = append(words, "a credential")
		default:
			words = append(words, "`"+access.RoleName(r)+"`")
		}
	}
	return strings.Join(words, " or ")
}
