package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"misstep/internal/private"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// TokenVariable has a token.
	TokenVariable = "MISSTEP_TOKEN"
	// TokenFileVariable has the path of a file with one, which is read for each call.
	TokenFileVariable = "MISSTEP_TOKEN_FILE"

	// refreshBefore is how long before its end a login is refreshed.
	refreshBefore = time.Minute
	httpTimeout   = 20 * time.Second
)

// DialOption sends the caller's credential with each call to the coordinators at the addresses: the token in the environment, or
// else the login there; nothing when there is neither. Over a connection that is not encrypted it is sent to this host only;
// elsewhere the call fails.
func DialOption(addrs ...string) grpc.DialOption {
	local := !slices.ContainsFunc(addrs, func(a string) bool {
		host, _, err := net.SplitHostPort(a)
		return err != nil || !private.IsLoopback(host)
	})
	return grpc.WithDefaultCallOptions(grpc.PerRPCCredentials(&bearer{addrs: addrs, local: local}))
}

// bearer implements credentials.PerRPCCredentials.
type bearer struct {
	addrs []string
	// local means that no address leaves this host.
	local bool

	mu   sync.Mutex
	held Credential // guarded by mu
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: GetRequestMetadata decides.
func (b *bearer) RequireTransportSecurity() bool { return false }

// GetRequestMetadata implements credentials.PerRPCCredentials. Whoever asks where to log in sends nothing.
func (b *bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	info, _ := grpccredentials.RequestInfoFromContext(ctx)
	if info.Method == misstepv1.AccessService_GetLogin_FullMethodName {
		return nil, nil
	}
	token, err := b.token(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	if token == "" {
		return nil, nil
	}
	if !b.local && grpccredentials.CheckSecurityLevel(info.AuthInfo, grpccredentials.PrivacyAndIntegrity) != nil {
		return nil, status.Errorf(codes.Unauthenticated, "a token is not sent to %s over a connection that others can read: give "+
			"the coordinator's authority by --tls-ca, or unset %s and %s and log out", strings.Join(b.addrs, ", "), TokenVariable,
			TokenFileVariable)
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// token returns the caller's credential, "" when there is none.
func (b *bearer) token(ctx context.Context) (string, error) {
	if token := os.Getenv(TokenVariable); token != "" {
		return clean(TokenVariable, token)
	}
	if path := os.Getenv(TokenFileVariable); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", TokenFileVariable, err)
		}
		return clean(TokenFileVariable+" "+path, string(text))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if isFresh(b.held) {
		return b.held.IDToken, nil
	}
	held, err := current(ctx, b.addrs)
	if err != nil {
		return "", err
	}
	b.held = held
	return held.IDToken, nil
}

// clean returns a token without the white space around it. The error does not repeat it.
func clean(where, token string) (string, error) {
	token = strings.TrimSpace(token)
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: expected one token, which begins with misstep_ and has no space", where)
	}
	return token, nil
}

func isFresh(c Credential) bool { return c.IDToken != "" && time.Until(c.Expires) > refreshBefore }

// current returns the login at one of the addresses, refreshed if it ends soon; an empty one when there is none. Of several
// processes one refreshes: a provider may accept each refresh token once.
func current(ctx context.Context, addrs []string) (Credential, error) {
	all, err := load()
	if err != nil {
		return Credential{}, err
	}
	c, ok := all.of(addrs)
	if !ok || isFresh(c) {
		return c, nil
	}
	err = change(ctx, func(all *credentials) (bool, error) {
		if c, ok = all.of(addrs); !ok || isFresh(c) { // another process was here
			return false, nil
		}
		next, err := refresh(ctx, c)
		if err != nil {
			return false, fmt.Errorf("the login at %s has ended (%w): run `misstep login`", strings.Join(addrs, ", "), err)
		}
		for address, other := range all.Coordinators {
			if other.RefreshToken == c.RefreshToken {
				all.Coordinators[address] = next
			}
		}
		c = next
		return true, nil
	})
	return c, err
}

// refresh gets the next identity token.
func refresh(ctx context.Context, c Credential) (Credential, error) {
	if c.RefreshToken == "" {
		return c, errors.New("the provider gave nothing to refresh it with")
	}
	if err := private.Check("the provider's URL for tokens", c.TokenURL); err != nil {
		return c, err
	}
	config := oauth2.Config{ClientID: c.ClientID}
	config.Endpoint = oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: oauth2.AuthStyleInParams}
	old := &oauth2.Token{RefreshToken: c.RefreshToken, Expiry: time.Unix(1, 0)}
	token, err := config.TokenSource(withClient(ctx, c.Issuer), old).Token()
	if err != nil {
		return c, providerError(err)
	}
	return filled(ctx, c, token, oidc.NewVerifier(c.Issuer, nil, &oidc.Config{
		// It comes from the provider itself over its own connection, for which OpenID Connect Core 3.1.3.7 needs no signature.
		ClientID: c.ClientID, InsecureSkipSignatureCheck: true,
	}))
}

// filled returns the login with what the provider answered.
func filled(ctx context.Context, c Credential, token *oauth2.Token, verifier *oidc.IDTokenVerifier) (Credential, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return c, errors.New("the provider answered without an identity token")
	}
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return c, errors.New("the provider's identity token is not valid")
	}
	c.IDToken, c.Expires = raw, id.Expiry
	c.RefreshToken = cmp.Or(token.RefreshToken, c.RefreshToken)
	return c, nil
}

func withClient(ctx context.Context, issuer string) context.Context {
	return oidc.ClientContext(ctx, private.Client(issuer, httpTimeout, nil))
}

// providerError is a provider's error without its body, which may repeat what it was sent.
func providerError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err
	}
	if refused.ErrorCode == "" {
		return fmt.Errorf("the provider answered %s", refused.Response.Status)
	}
	return fmt.Errorf("the provider answered %s", printable(refused.ErrorCode))
}
