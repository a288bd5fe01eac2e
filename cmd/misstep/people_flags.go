package main

import (
	"errors"
	"time"

	"misstep/app/station"
	"misstep/coordinator/accounts"
)

// peopleFlags say whom a coordinator lets in.
type peopleFlags struct {
	Auth            bool          `help:"Ask who calls: people log in, scripts and runners show tokens (see misstep token). Implied by --oidc-issuer."`
	OIDCIssuer      string        `name:"oidc-issuer" help:"URL of the OpenID provider at which people log in." placeholder:"URL"`
	OIDCClientID    string        `name:"oidc-client-id" help:"Id of the public client that misstep is at the provider, with the device flow allowed." placeholder:"ID"`
	OIDCScopes      []string      `name:"oidc-scopes" help:"Scopes that clients ask for (default: openid,email,profile,groups,offline_access)." placeholder:"SCOPE"`
	OIDCNameClaim   string        `name:"oidc-name-claim" help:"Claim of the identity token that names a person (default: email, which must be verified). It must be one that people cannot choose." placeholder:"CLAIM"`
	OIDCGroupsClaim string        `name:"oidc-groups-claim" help:"Claim with the groups of a person (default: groups)." placeholder:"CLAIM"`
	KeepAudit       time.Duration `within:"[24h,)" help:"Keep entries of the audit log for this time." default:"8760h" placeholder:"TIME"`
}

func (f peopleFlags) accounts() (station.Accounts, error) {
	a := station.Accounts{Ask: f.Auth, KeepAudit: f.KeepAudit}
	if f.OIDCIssuer == "" {
		if f.OIDCClientID != "" || len(f.OIDCScopes) > 0 || f.OIDCNameClaim != "" || f.OIDCGroupsClaim != "" {
			return a, errors.New("the flags --oidc-… need --oidc-issuer URL")
		}
		return a, nil
	}
	if f.OIDCClientID == "" {
		return a, errors.New("--oidc-issuer needs --oidc-client-id ID, the client that misstep is at the provider")
	}
	var err error
	a.Provider, err = accounts.NewProvider(accounts.ProviderConfig{
		Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID, Scopes: f.OIDCScopes, NameClaim: f.OIDCNameClaim,
		GroupsClaim: f.OIDCGroupsClaim,
	})
	return a, err
}
