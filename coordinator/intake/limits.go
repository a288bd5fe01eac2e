package intake

import (
	"slices"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// usual is the largest message in bytes of a method that the table does not name, and anyones of one that anybody may call.
	usual   = 64 << 10
	anyones = 4 << 10
)

// largest are the methods whose messages may be larger. Each leaves room above what its handler accepts, so that a handler can say
// what is too large.
var largest = map[string]int{
	// A runner reports up to 3 MiB; reports of earlier versions had several outcomes of plausible.MaxBytes.
	misstepv1.LeaseService_Synchronize_FullMethodName: 32 << 20,
	// Submissions and what is like them have up to 4 MiB.
	misstepv1.AdminService_SubmitCampaign_FullMethodName:        8 << 20,
	misstepv1.AdminService_StartReproduction_FullMethodName:     8 << 20,
	misstepv1.CatalogueService_CheckCampaign_FullMethodName:     8 << 20,
	misstepv1.ScheduleService_CreateSchedule_FullMethodName:     8 << 20,
	misstepv1.CatalogueService_AddCatalogueEntry_FullMethodName: 4 << 20,
	misstepv1.AdminService_PutKnownBugs_FullMethodName:          2 << 20,
	// A chunk of a blob has up to 1 MiB, a list of digests up to remote.MaxDigests.
	misstepv1.CorpusService_Write_FullMethodName:       2 << 20,
	misstepv1.CorpusService_FindMissing_FullMethodName: 1 << 20,
	misstepv1.CorpusService_SignReads_FullMethodName:   1 << 20,
	misstepv1.CorpusService_SignWrites_FullMethodName:  1 << 20,
}

// Largest returns how many bytes a message of a method, by its full name such as "/misstep.v1.AdminService/GetFinding", may have.
func Largest(method string) int {
	if n, listed := largest[method]; listed {
		return n
	}
	if slices.Contains(access.MethodOf(method).Roles, misstepv1.Role_ROLE_ANYONE) {
		return anyones
	}
	return usual
}
