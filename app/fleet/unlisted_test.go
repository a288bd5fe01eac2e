package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

// Jobs of the fleet that the file does not have are found; not those of a fleet whose name begins like this one's, those that were
// stopped, and those that clean up.
func TestUnlistedJobs(t *testing.T) {
	f, err := Parse([]byte(small), "f.yaml")
	require.NoError(t, err)
	name := f.GetName()
	stubs := []*api.JobListStub{
		{ID: *nomad.Jobs(f, "")[0].ID, Type: api.JobTypeService},
		{ID: *nomad.Jobs(f, "")[1].ID, Type: api.JobTypeService},
		{ID: name + "-renamed", Type: api.JobTypeService},
		{ID: name + "-stopped", Type: api.JobTypeService, Stop: true},
		{ID: name + "-sweep-1", Type: api.JobTypeSysbatch},
		{ID: name + "-two-plain", Type: api.JobTypeService},
	}
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = stubs
		if r.URL.Path != "/v1/jobs" {
			owner := name
			if strings.HasSuffix(r.URL.Path, "-two-plain") {
				owner = name + "-two"
			}
			answer = &api.Job{ID: new(path.Base(r.URL.Path)), Meta: map[string]string{nomad.MetaFleet: owner}}
		} else {
			assert.Equal(t, name+"-", r.URL.Query().Get("prefix"))
		}
		if refuse {
			http.Error(w, "Permission denied", http.StatusForbidden)
			return
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	defer server.Close()
	said := 0
	c, err := Open(f, server.URL, func(string, ...any) { said++ })
	require.NoError(t, err)
	defer c.Close()
	ids, err := c.unlisted(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{name + "-renamed"}, ids)
	require.Contains(t, Unlisted(ids), "not in the fleet file, but running: "+name+"-renamed;")
	require.Empty(t, Unlisted(nil))
	require.Zero(t, said)

	refuse = true
	ids, err = c.unlisted(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids)
	require.Equal(t, 1, said, "that it is not known is said")
}
