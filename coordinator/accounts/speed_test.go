package accounts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/accounts"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// BenchmarkAuthenticate is what a token adds to each call, besides its bytes.
func BenchmarkAuthenticate(b *testing.B) {
	s := accounts.New(accounts.Config{Store: memory.New(), Asked: true})
	r, err := s.CreateToken(b.Context(), &misstepv1.CreateTokenRequest{
		Name: "lab", Grants: []*misstepv1.Grant{grant("", runner)},
	})
	require.NoError(b, err)
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs("authorization", "Bearer "+r.GetSecret()))
	b.ReportAllocs()
	for b.Loop() {
		if c, err := s.Authenticate(ctx); err != nil || !c.May(runner, "") {
			b.Fatal(c, err)
		}
	}
}

// Whatever a header has, nobody gets in by it but who has the token, and no answer repeats a secret.
func FuzzAuthenticate(f *testing.F) {
	s := accounts.New(accounts.Config{Store: memory.New(), Asked: true})
	r, err := s.CreateToken(f.Context(), &misstepv1.CreateTokenRequest{
		Name: "lab", Grants: []*misstepv1.Grant{grant("", admin)},
	})
	require.NoError(f, err)
	secret := r.GetSecret()
	for _, seed := range []string{
		"", "Bearer", "Bearer " + secret, "bearer " + secret, "Bearer  " + secret, "Bearer " + secret[:70], "Basic " + secret,
		"Bearer misstep_", "Bearer misstep_" + strings.Repeat("0", 10) + "_" + strings.Repeat("v", 52), "Bearer eyJ.eyJ.", "Bearer \x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", header))
		c, err := s.Authenticate(ctx)
		scheme, credential, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "bearer") && credential == secret {
			require.NoError(t, err)
			return
		}
		require.Nil(t, c)
		require.Equal(t, codes.Unauthenticated, status.Code(err))
		require.NotContains(t, err.Error(), secret[20:])
	})
}

// FuzzRedact: no secret of a token or of an identity token is left in a string, wherever it stands.
func FuzzRedact(f *testing.F) {
	f.Add("token ", " is not valid")
	f.Add("a=", "_")
	f.Add("misstep_", "")
	const secret = "9k0v3q5m7h1d2c4b6a8g9f0e1i3j5l7n9p1r3t5s7u0o2q4k6m8v"
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret[:20]) {
			return
		}
		for _, token := range []string{"misstep_0123456789_" + secret, "eyJhbGciOiJSUzI1NiJ9.eyJ" + secret + ".c2ln" + secret} {
			require.NotContains(t, access.Redact(before+token+after), secret[len(secret)-12:])
		}
	})
}
