package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/corpus"
	blobs "misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// shelf is a coordinator with a shared catalogue, and a clock.
type shelf struct {
	*coordinator.Server
	t     *testing.T
	store store.Store
	blobs corpus.Store
	now   time.Time
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{t: t, store: memory.New(), blobs: blobs.New(), now: time.Unix(1_800_000_000, 0)}
	s.Server = s.another()
	return s
}

// another returns a further coordinator on the same store.
func (s *shelf) another() *coordinator.Server {
	return coordinator.New(coordinator.Config{
		Store: s.store, Shared: true, Clock: func() time.Time { return s.now },
		Trees: &catalogue.Trees{Kept: s.blobs, All: s.blobs},
	})
}

func (s *shelf) put(text string) corpus.Digest {
	s.t.Helper()
	d, _, err := s.blobs.Put(s.t.Context(), strings.NewReader(text), corpus.Digest{})
	require.NoError(s.t, err)
	return d
}

// manifest puts lines of a manifest, as they are.
func (s *shelf) manifest(lines ...string) string {
	return s.put("misstep-tree 1\n" + strings.Join(lines, "\n") + "\n").String()
}

func (s *shelf) file(kind, path, text string) string {
	return fmt.Sprintf("%s %d %s %s", kind, len(text), s.put(text), path)
}

// jdk puts the tree of a JDK; each content is another build.
func (s *shelf) jdk(content string) string {
	return s.manifest("dir bin", s.file("exec", "bin/java", content), s.file("file", "release", "JAVA_VERSION=\"28-ea\"\n"))
}

func request(name, digest string) *misstepv1.AddCatalogueEntryRequest {
	return &misstepv1.AddCatalogueEntryRequest{
		Kind: catalogue.JDK, Name: name, Digest: digest, Labels: map[string]string{"pr": "1234"},
		Jdk: &misstepv1.JdkFacts{
			Version: "28-ea", Feature: 28,
			Presets: []*misstepv1.JdkPreset{
				{Preset: "g1", Flags: []string{"-XX:+UseG1GC"}}, {Preset: "zgc", Reason: "it has no flag UseZGC"},
			},
			Lacks: map[string]string{"async-profiler": "there is no library"},
		},
	}
}

func person(ctx context.Context, name string, role misstepv1.Role) context.Context {
	return access.With(ctx, &access.Caller{Name: name, Kind: access.Person, Grants: []access.Grant{{Role: role}}})
}

const (
	hunter = misstepv1.Role_ROLE_HUNTER
	admin  = misstepv1.Role_ROLE_ADMIN
)

func TestEntriesAreImmutable(t *testing.T) {
	s := newShelf(t)
	anna, ben := person(t.Context(), "anna", hunter), person(t.Context(), "ben", hunter)
	first, second := s.jdk("a"), s.jdk("b")
	added, err := s.AddCatalogueEntry(anna, request("openjdk-28", first))
	require.NoError(t, err)
	assert.False(t, added.GetExisting())
	assert.Equal(t, "anna", added.GetEntry().GetOwner())
	assert.EqualValues(t, 1+len("JAVA_VERSION=\"28-ea\"\n"), added.GetEntry().GetSize())
	assert.EqualValues(t, 2, added.GetEntry().GetFiles())
	assert.Equal(t, s.now.UTC(), added.GetEntry().GetAdded().AsTime())

	again, err := s.AddCatalogueEntry(ben, request("openjdk-28", first))
	require.NoError(t, err)
	assert.True(t, again.GetExisting())
	assert.Equal(t, "anna", again.GetEntry().GetOwner())

	other := request("openjdk-28", second)
	_, err = s.AddCatalogueEntry(anna, other)
	assert.Equal(t, codes.AlreadyExists, status.Code(err))
	require.ErrorContains(t, err, "is "+first+", added by anna on 2027-01-15: choose another name, or give --replace")
	other.Replace = true
	_, err = s.AddCatalogueEntry(ben, other)
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	require.ErrorContains(t, err, "JDK openjdk-28 belongs to anna")
	s.now = s.now.Add(time.Hour)
	replaced, err := s.AddCatalogueEntry(anna, other)
	require.NoError(t, err)
	kept := "openjdk-28@" + strings.TrimPrefix(first, "sha256:")[:12]
	assert.Equal(t, kept, replaced.GetEntry().GetReplaced())

	list := func(r *misstepv1.ListCatalogueEntriesRequest) (names []string) {
		got, err := s.ListCatalogueEntries(ben, r)
		require.NoError(t, err)
		for _, e := range got.GetEntries() {
			names = append(names, e.GetName())
		}
		return names
	}
	assert.Equal(t, []string{"openjdk-28", kept}, list(&misstepv1.ListCatalogueEntriesRequest{}))
	assert.Equal(t, []string{kept}, list(&misstepv1.ListCatalogueEntriesRequest{Pattern: "*@*"}))
	assert.Empty(t, list(&misstepv1.ListCatalogueEntriesRequest{Labels: map[string]string{"pr": "1"}}))
	assert.Len(t, list(&misstepv1.ListCatalogueEntriesRequest{Labels: map[string]string{"pr": "1234"}}), 2)
	assert.Empty(t, list(&misstepv1.ListCatalogueEntriesRequest{Kind: catalogue.Workload}))
	_, err = s.ListCatalogueEntries(ben, &misstepv1.ListCatalogueEntriesRequest{Pattern: "["})
	assert.Equal(t, codes.InvalidArgument, status.Code(err))

	// The same files with other labels, for ever no more.
	relabelled := request("openjdk-28", second)
	relabelled.Labels, relabelled.Keep, relabelled.Replace = map[string]string{"pr": "2"}, durationpb.New(2*time.Hour), true
	same, err := s.AddCatalogueEntry(person(t.Context(), "root", admin), relabelled)
	require.NoError(t, err)
	assert.True(t, same.GetExisting())
	assert.Equal(t, "anna", same.GetEntry().GetOwner(), "who replaces labels takes nothing over")
	assert.Equal(t, "2", same.GetEntry().GetLabels()["pr"])

	remove := &misstepv1.RemoveCatalogueEntryRequest{Kind: catalogue.JDK, Name: "openjdk-28"}
	_, err = s.RemoveCatalogueEntry(ben, remove)
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = s.RemoveCatalogueEntry(anna, remove)
	require.NoError(t, err)
	_, err = s.RemoveCatalogueEntry(anna, remove)
	assert.Equal(t, codes.NotFound, status.Code(err))
	remove.Name = "openjdk-28@00"
	_, err = s.RemoveCatalogueEntry(person(t.Context(), "root", admin), remove)
	require.ErrorContains(t, err, "there are: "+kept)
}

// What somebody sends is refused with the reason, and nothing is stored.
func TestTreesAreVerifiedOnReceipt(t *testing.T) {
	s := newShelf(t)
	java := s.file("exec", "bin/java", "java")
	absent := corpus.DigestBytes([]byte("never sent")).String()
	whole := s.jdk("a")
	for name, test := range map[string]struct {
		change func(*misstepv1.AddCatalogueEntryRequest)
		code   codes.Code
		says   string
	}{
		"no kind":       {func(r *misstepv1.AddCatalogueEntryRequest) { r.Kind = 7 }, codes.InvalidArgument, "kind: expected"},
		"climbing name": {func(r *misstepv1.AddCatalogueEntryRequest) { r.Name = "../jdk" }, codes.InvalidArgument, "name: "},
		"retired name":  {func(r *misstepv1.AddCatalogueEntryRequest) { r.Name = "jdk@0123" }, codes.InvalidArgument, "name: "},
		"no digest":     {func(r *misstepv1.AddCatalogueEntryRequest) { r.Digest = "x" }, codes.InvalidArgument, "digest: "},
		"no facts":      {func(r *misstepv1.AddCatalogueEntryRequest) { r.Jdk = nil }, codes.InvalidArgument, "jdk.feature: "},
		"short life": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Keep = durationpb.New(1)
		}, codes.InvalidArgument, "keep: "},
		"terminal escape": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Labels["pr"] = "\x1b[2J"
		}, codes.InvalidArgument, "control character"},
		"label": {func(r *misstepv1.AddCatalogueEntryRequest) { r.Labels["a b"] = "" }, codes.InvalidArgument, "labels: "},
		"flag that runs something else": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Jdk.Presets[0].Flags = []string{"-javaagent:x.jar"}
		}, codes.InvalidArgument, "jdk.presets[0].flags: "},
		"large": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Jdk.Version = strings.Repeat("x", catalogue.MaxRequest)
		}, codes.InvalidArgument, "at most 1048576 bytes"},
		"feature": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Jdk.Feature = 17
		}, codes.FailedPrecondition, "its file release says 28"},
		"absent manifest": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = absent
		}, codes.FailedPrecondition, "send its files"},
		"half a tree": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest("dir bin", java, "dir lib", fmt.Sprintf("file 10 %s lib/modules", absent))
		}, codes.FailedPrecondition, "1 of its 2 files are missing, the first one is lib/modules: add it again"},
		"wrong size": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest("dir bin", strings.Replace(java, "exec 4", "exec 5", 1))
		}, codes.FailedPrecondition, "bin/java has 4 bytes, not 5"},
		"two sizes": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest("dir bin", java, strings.NewReplacer("exec 4", "exec 5", "bin/java", "bin/javac").Replace(java))
		}, codes.FailedPrecondition, "two sizes"},
		"path that climbs": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest("dir ..", strings.Replace(java, "bin/", "../", 1))
		}, codes.FailedPrecondition, "climbs"},
		"link that leaves": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest("dir bin", java, "link shadow /etc/shadow")
		}, codes.FailedPrecondition, "leaves the tree"},
		"not a manifest": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.put("hello").String()
		}, codes.FailedPrecondition, "does not begin with"},
		"no JDK": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Digest = s.manifest(s.file("file", "java", "x"))
		}, codes.FailedPrecondition, "it is no JDK"},
		"no workload": {func(r *misstepv1.AddCatalogueEntryRequest) {
			r.Kind, r.Name, r.Jdk, r.Digest = catalogue.Workload, "w", nil, whole
		}, codes.FailedPrecondition, "it is no workload"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("openjdk", whole)
			test.change(r)
			_, err := s.AddCatalogueEntry(t.Context(), r)
			assert.Equal(t, test.code, status.Code(err), err)
			require.ErrorContains(t, err, test.says)
		})
	}
	list, err := s.ListCatalogueEntries(t.Context(), &misstepv1.ListCatalogueEntriesRequest{})
	require.NoError(t, err)
	assert.Empty(t, list.GetEntries())
	_, err = s.AddCatalogueEntry(t.Context(), request("openjdk", whole))
	require.NoError(t, err, "the unchanged request is right")
}

func TestWorkloadsDescribeThemselves(t *testing.T) {
	s := newShelf(t)
	manifest := func(text string) string {
		return s.manifest("dir lib", s.file("file", "lib/w.jar", "jar"), s.file("file", "workload.yaml", text))
	}
	good := "name: mine\ndescription: what it does\nmain: M\nclasspath: [\"lib/*\"]\nrepetitions: 1\nmin_feature: 17\n"
	add := func(name, text string) (*misstepv1.CatalogueEntry, error) {
		r, err := s.AddCatalogueEntry(t.Context(), &misstepv1.AddCatalogueEntryRequest{
			Kind: catalogue.Workload, Name: name, Digest: manifest(text),
		})
		return r.GetEntry(), err
	}
	entry, err := add("mine", good)
	require.NoError(t, err)
	assert.Equal(t, "what it does", entry.GetWorkload().GetDescription())
	assert.EqualValues(t, 17, entry.GetWorkload().GetMinFeature())
	for text, says := range map[string]string{
		strings.Replace(good, "lib/*", "lib", 1) + "bogus: 1\n": "bogus",
		strings.Replace(good, "lib/*", "classes", 1):            "it has no classes",
		strings.Replace(good, "lib/*", "other/*", 1):            "no jar in other",
		strings.Replace(good, "name: mine", "name: his", 1):     `calls it "his", not "mine"`,
	} {
		_, err := add("mine", text)
		assert.Equal(t, codes.FailedPrecondition, status.Code(err), err)
		require.ErrorContains(t, err, says)
	}
	_, err = add("renaissance/mine", good)
	require.ErrorContains(t, err, `calls it "mine"`)
	suite := "name: renaissance\ndescription: d\njar: lib/w.jar\nharness: renaissance\nrepetitions: 2\n"
	_, err = add("renaissance/akka-uct", suite)
	require.NoError(t, err)
}

// Two coordinators on one store give a name to one of two builds, whoever asks first.
func TestOneOfTwoCoordinatorsAddsAName(t *testing.T) {
	s := newShelf(t)
	second := s.another()
	digests := []string{s.jdk("a"), s.jdk("b")}
	errs := make(chan error, 2)
	for i, server := range []*coordinator.Server{s.Server, second} {
		go func() {
			_, err := server.AddCatalogueEntry(context.Background(), request("openjdk", digests[i]))
			errs <- err
		}()
	}
	got := map[codes.Code]int{}
	for range 2 {
		got[status.Code(<-errs)]++
	}
	assert.Equal(t, map[codes.Code]int{codes.OK: 1, codes.AlreadyExists: 1}, got)
}

// What a coordinator only lends, such as the JDKs of its own machine, is copied, so that an entry does not depend on it.
func TestEntriesDoNotDependOnWhatIsLent(t *testing.T) {
	s := newShelf(t)
	digest := s.jdk("a")
	kept := blobs.New()
	server := coordinator.New(coordinator.Config{Store: s.store, Trees: &catalogue.Trees{Kept: kept, All: s.blobs}})
	_, err := server.AddCatalogueEntry(t.Context(), request("openjdk", digest))
	require.NoError(t, err)
	d, err := corpus.ParseDigest(digest)
	require.NoError(t, err)
	text, err := corpus.ReadAll(t.Context(), kept, d, 1<<10)
	require.NoError(t, err)
	java := corpus.DigestBytes([]byte("a"))
	assert.True(t, bytes.Contains(text, []byte(java.String())))
	missing, err := kept.Missing(t.Context(), []corpus.Digest{java})
	require.NoError(t, err)
	assert.Empty(t, missing)
}

// A long catalogue comes in pages, each entry once.
func TestPagesOfTheCatalogue(t *testing.T) {
	s := newShelf(t)
	require.NoError(t, s.store.Update(t.Context(), func(tx store.Tx) error {
		for i := range 40 {
			for _, kind := range []misstepv1.CatalogueKind{catalogue.JDK, catalogue.Workload} {
				if err := tx.PutCatalogueEntry(&misstepv1.CatalogueEntry{
					Kind: kind, Name: fmt.Sprint("n", i), Digest: digest("a"),
					Jdk: &misstepv1.JdkFacts{Version: strings.Repeat("v", 100_000)},
				}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	seen, pages := map[string]bool{}, 0
	for q := (&misstepv1.ListCatalogueEntriesRequest{}); ; pages++ {
		page, err := s.ListCatalogueEntries(t.Context(), q)
		require.NoError(t, err)
		for _, e := range page.GetEntries() {
			key := e.GetKind().String() + e.GetName()
			assert.False(t, seen[key], key)
			seen[key] = true
		}
		if q.PageToken = page.GetNextPageToken(); q.GetPageToken() == "" {
			break
		}
	}
	assert.Len(t, seen, 80)
	assert.Positive(t, pages)
}

// A pattern in a campaign means the builds that match when it is submitted; those of a schedule follow the catalogue.
func TestPatternsAreResolvedInTheCatalogue(t *testing.T) {
	s := newShelf(t)
	s.stock("openjdk-27", "a")
	s.stock("openjdk-28", "b")
	s.stock("pr-1", "c")
	anna := person(t.Context(), "anna", hunter)
	of := func(jdks ...string) *misstepv1.SubmitCampaignRequest {
		c := nightly(jdks[0])
		c.Jdks = jdks
		return &misstepv1.SubmitCampaignRequest{Campaign: c}
	}
	submitted, err := s.SubmitCampaign(anna, of("openjdk-*", "openjdk-28"))
	require.NoError(t, err)
	var names []string
	for _, one := range submitted.GetFromCatalogue() {
		if one.GetKind() == "JDK" {
			names = append(names, one.GetName())
		}
	}
	assert.Equal(t, []string{"openjdk-27", "openjdk-28"}, names)
	got, err := s.GetCampaign(anna, &misstepv1.GetCampaignRequest{CampaignId: submitted.GetCampaignId()})
	require.NoError(t, err)
	assert.Equal(t, names, got.GetCampaign().GetCampaign().GetJdks())
	_, err = s.SubmitCampaign(anna, of("openjdk-28", "nonesuch-*"))
	require.ErrorContains(t, err, `jdks[1]: the pattern "nonesuch-*" matches no JDK of the shared catalogue`)
	assert.Equal(t, codes.InvalidArgument, status.Code(err))

	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: of("openjdk-*").GetCampaign(), Every: durationpb.New(day)})
	s.stock("openjdk-29", "d")
	s.tick(day)
	all := s.campaigns()
	require.Len(t, all, 2)
	assert.Equal(t, []string{"openjdk-27", "openjdk-28", "openjdk-29"}, all[1].Submission.GetCampaign().GetJdks())
}
