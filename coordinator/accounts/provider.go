package accounts

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/internal/private"
	"misstep/internal/shorten"
)

// ProviderConfig says at which OpenID provider people log in.
type ProviderConfig struct {
	// Issuer is the provider's URL.
	Issuer string
	// ClientID is the public client that misstep is at the provider; identity tokens for others are refused.
	ClientID string
	// Scopes that clients ask for; nil is openid, email, profile, groups and offline_access.
	Scopes []string
	// NameClaim is the claim that names a person; empty is "email", which the provider must have verified.
	NameClaim string
	// GroupsClaim is the claim with the groups of a person, a list of strings or one; empty is "groups".
	GroupsClaim string
	// Clock returns the time; nil is time.Now.
	Clock func() time.Time
}

// Provider verifies the identity tokens of an OpenID provider. It is safe for concurrent use.
type Provider struct {
	config ProviderConfig
	client *http.Client

	mu sync.Mutex
	// verifier is nil until the provider's configuration was read; guarded by mu.
	verifier *oidc.IDTokenVerifier
	// failed is the last attempt to read it, and why it failed; guarded by mu.
	failed   time.Time
	failedBy error
}

const (
	providerTimeout = 10 * time.Second
	// askAgainAfter is the least time between two attempts to read the provider's configuration.
	askAgainAfter = 5 * time.Second
	// maxAsked is how often the provider is asked at once, after a pause.
	maxAsked  = 5
	maxGroups = 1000
	// maxProviderError bounds what is repeated of a provider's error, which has the page that it answered, in bytes.
	maxProviderError = 300
)

// NewProvider returns a provider, which is asked when the first person calls: a coordinator starts without it, and tokens work
// without it. It fails when people's credentials could be read on their way to the provider.
func NewProvider(c ProviderConfig) (*Provider, error) {
	if err := private.Check("OpenID provider", c.Issuer); err != nil {
		return nil, err
	}
	if c.ClientID == "" {
		return nil, errors.New("OpenID provider: expected the id of the client that misstep is there")
	}
	if c.Scopes == nil {
		c.Scopes = []string{oidc.ScopeOpenID, "email", "profile", "groups", oidc.ScopeOfflineAccess}
	}
	c.NameClaim, c.GroupsClaim = cmp.Or(c.NameClaim, "email"), cmp.Or(c.GroupsClaim, "groups")
	if c.Clock == nil {
		c.Clock = time.Now
	}
	asking := &sparing{often: rate.NewLimiter(rate.Every(askAgainAfter), maxAsked)}
	return &Provider{config: c, client: private.Client(c.Issuer, providerTimeout, asking)}, nil
}

// sparing asks the provider a few times at once, and then seldom. Its keys are read again for each token that none of them signed,
// since it may have new ones, and anybody can show such tokens.
type sparing struct{ often *rate.Limiter }

var errAskedLately = errors.New("the provider was asked for its keys a moment ago")

// RoundTrip implements http.RoundTripper.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.often.Allow() {
		return nil, errAskedLately
	}
	return http.DefaultTransport.RoundTrip(r)
}

// ready returns the verifier, after reading the provider's configuration if that was not done before.
func (p *Provider) ready() (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verifier != nil {
		return p.verifier, nil
	}
	if p.failedBy != nil && time.Since(p.failed) < askAgainAfter {
		return nil, p.failedBy
	}
	// The keys are read with this context later, too.
	ctx := oidc.ClientContext(context.Background(), p.client)
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	if err != nil {
		p.failed, p.failedBy = time.Now(), err
		return nil, err
	}
	p.verifier = provider.VerifierContext(ctx, &oidc.Config{ClientID: p.config.ClientID, Now: p.config.Clock})
	return p.verifier, nil
}

// verify returns the name and the groups of the person whose identity token it is: signed by the provider with an asymmetric key,
// for this client, and not expired.
func (p *Provider) verify(ctx context.Context, raw string) (name string, groups []string, err error) {
	verifier, err := p.ready()
	if err != nil {
		return "", nil, status.Errorf(codes.Unavailable, "the OpenID provider does not answer: %s",
			shorten.To(err.Error(), maxProviderError))
	}
	token, err := verifier.Verify(ctx, raw)
	if expired := (*oidc.TokenExpiredError)(nil); errors.As(err, &expired) {
		return "", nil, status.Errorf(codes.Unauthenticated, "the login expired at %s: run `misstep login`",
			expired.Expiry.UTC().Format(time.RFC3339))
	}
	if err != nil && strings.Contains(err.Error(), errAskedLately.Error()) { // only its text comes through
		return "", nil, access.ComeBack(askAgainAfter, "too many identity tokens came that no known key of the provider signed, "+
			"as this one; if its keys are new, come back in %v", askAgainAfter)
	}
	if err != nil { // its text may quote claims of a token that is not genuine
		return "", nil, status.Errorf(codes.Unauthenticated, "the identity token is not valid here: it is not signed by %s for "+
			"the client %s; run `misstep login`", p.config.Issuer, p.config.ClientID)
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return "", nil, status.Error(codes.Unauthenticated, "the identity token has no claims that can be read")
	}
	if name, err = p.nameOf(claims); err != nil {
		return "", nil, err
	}
	return name, groupsOf(claims[p.config.GroupsClaim]), nil
}

// nameOf returns the name of a person. An email address that the provider did not verify is whatever the person typed.
func (p *Provider) nameOf(claims map[string]any) (string, error) {
	claim := p.config.NameClaim
	name, _ := claims[claim].(string)
	if name == "" {
		return "", status.Errorf(codes.Unauthenticated, "the identity token has no claim %q: ask the provider's admin for it, or "+
			"the coordinator's for another --oidc-name-claim", claim)
	}
	if verified, _ := claims["email_verified"].(bool); claim == "email" && !verified {
		return "", status.Error(codes.Unauthenticated, "the provider has not verified the email address: verify it there, or ask "+
			"the coordinator's admin for another --oidc-name-claim")
	}
	if err := checkPerson(name); err != nil {
		return "", status.Errorf(codes.Unauthenticated, "the claim %q: %s", claim, status.Convert(err).Message())
	}
	return name, nil
}

func groupsOf(claim any) (groups []string) {
	switch v := claim.(type) {
	case string:
		groups = []string{v}
	case []any:
		for _, g := range v {
			if name, ok := g.(string); ok && len(groups) < maxGroups {
				groups = append(groups, name)
			}
		}
	}
	return slices.DeleteFunc(groups, func(g string) bool { return g == "" })
}
