package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"misstep/internal/private"
	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
)

// Prompt is what a person is asked to do at the provider.
type Prompt struct {
	// Issuer and ClientID are the provider and the client as the coordinator named them.
	Issuer, ClientID string
	// URL to open and Code to enter there; WholeURL, unless empty, has the code in it.
	URL, WholeURL, Code string
}

// maxProviderError bounds what is repeated of a provider's answer, in bytes.
const maxProviderError = 300

// ErrNotAsked means that the coordinator does not ask who calls.
var ErrNotAsked = errors.New("the coordinator does not ask who calls: no login is needed")

// Login logs a person in at the provider that the coordinator names, by the device flow, and keeps the login for the addresses. ask
// is told once what the person has to do; Login then waits until it is done.
//
// The coordinator is believed which provider it is, and gets the identity token: log in at coordinators that you trust.
func Login(ctx context.Context, api misstepv1.AccessServiceClient, addrs []string, ask func(Prompt)) error {
	where, err := api.GetLogin(ctx, &misstepv1.GetLoginRequest{})
	if err != nil {
		return err
	}
	switch {
	case !where.GetAuthentication():
		return ErrNotAsked
	case where.GetIssuer() == "":
		return fmt.Errorf("people cannot log in at %s: no OpenID provider is configured there; give a token in %s",
			strings.Join(addrs, ", "), TokenVariable)
	}
	c, err := authorize(withClient(ctx, where.GetIssuer()), where, ask)
	if err != nil {
		return fmt.Errorf("log in at %s: %w", printable(where.GetIssuer()), err)
	}
	return change(ctx, func(all *credentials) (bool, error) {
		for _, a := range addrs {
			all.Coordinators[a] = c
		}
		return true, nil
	})
}

// authorize is the device flow.
func authorize(ctx context.Context, where *misstepv1.GetLoginResponse, ask func(Prompt)) (Credential, error) {
	c := Credential{Issuer: where.GetIssuer(), ClientID: where.GetClientId()}
	if err := private.Check("the OpenID provider", c.Issuer); err != nil {
		return c, err
	}
	provider, err := oidc.NewProvider(ctx, c.Issuer)
	if err != nil && ctx.Err() == nil { // it repeats the page that the provider answered
		err = errors.New(printable(shorten.To(err.Error(), maxProviderError)))
	}
	if err != nil {
		return c, err
	}
	var more struct {
		Revocation string `json:"revocation_endpoint"`
	}
	if err := provider.Claims(&more); err != nil {
		return c, err
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client has no secret
	c.TokenURL, c.RevocationURL = endpoint.TokenURL, more.Revocation
	if endpoint.DeviceAuthURL == "" {
		return c, errors.New("the provider does not offer the device flow (device_authorization_endpoint): ask its admin " +
			"to allow it for the client " + printable(c.ClientID))
	}
	for what, address := range map[string]string{
		"the provider's URL for devices": endpoint.DeviceAuthURL, "the provider's URL for tokens": endpoint.TokenURL,
	} {
		if err := private.Check(what, address); err != nil {
			return c, err
		}
	}
	config := oauth2.Config{ClientID: c.ClientID, Endpoint: endpoint, Scopes: where.GetScopes()}
	device, err := config.DeviceAuth(ctx)
	if err != nil {
		return c, providerError(err)
	}
	if err := private.Check("the page to log in at", device.VerificationURI); err != nil {
		return c, err
	}
	prompt := Prompt{
		Issuer: printable(c.Issuer), ClientID: printable(c.ClientID), URL: printable(device.VerificationURI),
		Code: printable(device.UserCode),
	}
	if private.Check("", device.VerificationURIComplete) == nil {
		prompt.WholeURL = printable(device.VerificationURIComplete)
	}
	ask(prompt)
	token, err := config.DeviceAccessToken(ctx, device)
	if err != nil {
		return c, waitError(ctx, err)
	}
	return filled(ctx, c, token, provider.Verifier(&oidc.Config{ClientID: c.ClientID}))
}

// waitError says why the wait for a person ended.
func waitError(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && refused.ErrorCode == "access_denied":
		return errors.New("it was denied at the provider")
	case ok && refused.ErrorCode == "expired_token", errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return errors.New("nobody entered the code in time: run `misstep login` again")
	}
	return providerError(err)
}

// Logout forgets the logins at the addresses, and asks the provider to end them. known is false when there was none; the error is a
// warning when known is true: the login is forgotten here in any case.
func Logout(ctx context.Context, addrs []string) (known bool, err error) {
	var ended []Credential
	err = change(ctx, func(all *credentials) (bool, error) {
		for _, a := range addrs {
			if c, ok := all.Coordinators[a]; ok {
				ended = append(ended, c)
				delete(all.Coordinators, a)
			}
		}
		return len(ended) > 0, nil
	})
	if err != nil {
		return false, err
	}
	for _, c := range ended {
		err = errors.Join(err, revoke(ctx, c))
	}
	return len(ended) > 0, err
}

// revoke ends a refresh token (RFC 7009), where the provider can.
func revoke(ctx context.Context, c Credential) error {
	if c.RevocationURL == "" || c.RefreshToken == "" || private.Check("", c.RevocationURL) != nil {
		return nil
	}
	form := url.Values{"token": {c.RefreshToken}, "token_type_hint": {"refresh_token"}, "client_id": {c.ClientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.RevocationURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := private.Client(c.Issuer, httpTimeout, nil).Do(request)
	if err != nil {
		return fmt.Errorf("the provider was not told: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider did not end the login: it answered %s", response.Status)
	}
	return nil
}

// printable returns a string from elsewhere without what would control a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
