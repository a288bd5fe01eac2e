package accounts_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// call makes a call with an empty request, in a project unless that is empty.
func (l *lab) call(credential, project, name string, m protoreflect.MethodDescriptor) error {
	ctx := l.with(credential)
	if project != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, access.ProjectHeader, project)
	}
	request, response := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		return l.conn.Invoke(ctx, name, request, response)
	}
	stream, err := l.conn.NewStream(ctx,
		&grpc.StreamDesc{ClientStreams: m.IsStreamingClient(), ServerStreams: m.IsStreamingServer()}, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(response)
}

// letIn are the callers who are let in to each call, and nobody else is: written out, not computed from the proto. v is a viewer, h
// a hunter, t a triager, r a runner, a an admin, n a token of a maker without a role there, and - is nobody.
var letIn = map[string]string{
	"AccessService/GetLogin":     "vhtran-",
	"AccessService/WhoAmI":       "vhtran",
	"AccessService/CreateToken":  "vhtran",
	"AccessService/ListTokens":   "vhtran",
	"AccessService/RevokeToken":  "vhtran",
	"AccessService/GrantAccess":  "a",
	"AccessService/RevokeAccess": "a",
	"AccessService/ListAccess":   "a",
	"AccessService/ListAudit":    "a",

	"AdminService/SubmitCampaign":     "ha",
	"AdminService/ListCampaigns":      "vhta",
	"AdminService/GetCampaign":        "vhta",
	"AdminService/ListTrials":         "vhta",
	"AdminService/StopCampaign":       "ha",
	"AdminService/SetBudget":          "ha",
	"AdminService/ListRunners":        "vhta",
	"AdminService/GetBacklog":         "vhta",
	"AdminService/TrustOwner":         "a",
	"AdminService/DrainRunner":        "a",
	"AdminService/SetQuota":           "a",
	"AdminService/ListQuotas":         "vhta",
	"AdminService/ListFindings":       "vhta",
	"AdminService/ListBugs":           "vhta",
	"AdminService/GetFinding":         "vhta",
	"AdminService/SetVisibility":      "ta",
	"AdminService/MergeFindings":      "ta",
	"AdminService/SplitFinding":       "ta",
	"AdminService/NoteFinding":        "ta",
	"AdminService/UndoDecision":       "ta",
	"AdminService/ListDecisions":      "vhta",
	"AdminService/PutKnownBugs":       "ta",
	"AdminService/RemoveKnownBug":     "ta",
	"AdminService/ListKnownBugs":      "vhta",
	"AdminService/StartReproduction":  "hta",
	"AdminService/GetReproduction":    "vhta",
	"AdminService/ListReproductions":  "vhta",
	"AdminService/CancelReproduction": "hta",
	"AdminService/RecordClean":        "hta",

	"CatalogueService/AddCatalogueEntry":    "ha",
	"CatalogueService/ListCatalogueEntries": "vhta",
	"CatalogueService/RemoveCatalogueEntry": "ha",
	"CatalogueService/CheckCampaign":        "vhta",

	"ScheduleService/CreateSchedule": "ha",
	"ScheduleService/ListSchedules":  "vhta",
	"ScheduleService/PauseSchedule":  "ha",
	"ScheduleService/RemoveSchedule": "ha",
	"ScheduleService/ListRetests":    "vhta",

	"CorpusService/FindMissing": "vhtra",
	"CorpusService/Read":        "vhtra",
	"CorpusService/Write":       "htra",
	"CorpusService/SignReads":   "vhtra",
	"CorpusService/SignWrites":  "htra",
	"CorpusService/ListChunks":  "vhtra",
	"CorpusService/ListEntries": "vhta",
	"CorpusService/AddEntry":    "hta",

	"LeaseService/Synchronize": "ra",
}

// Each call is made by each kind of caller: with the role in every project, in any of them; and with the role in the project p
// only, in p, in another project and in none. The last role is enough in p, and only for calls that decide by project.
func TestEachCallByEachRole(t *testing.T) {
	l := newLab(t, nil)
	roles := map[string]misstepv1.Role{"v": viewer, "h": hunter, "t": triager, "r": runner, "a": admin}
	everywhere, inProject := map[string]string{"-": ""}, map[string]string{}
	for letter, role := range roles {
		everywhere[letter] = l.token(access.RoleName(role), grant("", role))
		inProject[letter] = l.token(access.RoleName(role), grant("p", role))
	}
	made := 0
	for _, service := range access.Services() {
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			short := string(service.Name()) + "/" + string(m.Name())
			full := "/" + string(service.FullName()) + "/" + string(m.Name())
			who, listed := letIn[short]
			if !assert.True(t, listed, "%s is not in the table letIn", short) {
				continue
			}
			about := access.Describe(m)
			check := func(letter, credential, where, project string, want bool) {
				made++
				err := l.call(credential, project, full, m)
				refused := status.Code(err) == codes.PermissionDenied || status.Code(err) == codes.Unauthenticated
				assert.Equal(t, want, !refused, "%s by %s%s in project %q: %v", short, letter, where, project, err)
				if refused && letter == "-" {
					assert.Equal(t, codes.Unauthenticated, status.Code(err))
				}
			}
			for letter, credential := range everywhere {
				want := contains(who, letter)
				if short == "AccessService/CreateToken" && letter != "-" {
					continue // decides by its caller's kind, see TestATokenDoesNoMoreThanItsMaker
				}
				check(letter, credential, "", "", want)
				check(letter, credential, "", "q", want)
			}
			anyone := contains(who, "n")
			for letter, credential := range inProject {
				if short == "AccessService/CreateToken" {
					continue
				}
				check(letter, credential, " of p", "p", contains(who, letter) && (anyone || about.ByProject))
				for _, other := range []string{"", "default", "q", "P", "p/", "@p"} {
					check(letter, credential, " of p", other, contains(who, letter) && anyone)
				}
			}
		}
	}
	assert.GreaterOrEqual(t, made, 47*len(letIn)-47)
	t.Logf("%d calls made", made)
}

func contains(letters, letter string) bool {
	for _, l := range letters {
		if string(l) == letter {
			return true
		}
	}
	return false
}
