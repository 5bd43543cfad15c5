package api

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/access"
)

// IssueToken creates a token.
func IssueToken() Operation[TokenStart, IssuedToken] {
	return Operation[TokenStart, IssuedToken]{
		ID: "issueToken", Method: postMethod, Path: "/v1/tokens", Role: access.RoleAdmin, Tag: "tokens", Status: created, ToldOnce: true,
		Summary: "Create a token for a caller. Only this answer contains its text",
	}
}

// ListTokens lists the tokens, without their texts.
func ListTokens() Operation[None, TokenList] {
	return Operation[None, TokenList]{
		ID: "listTokens", Method: getMethod, Path: "/v1/tokens", Role: access.RoleAdmin, Tag: "tokens",
		Summary: "All tokens and their rights, without their texts",
	}
}

// RevokeToken deletes a token: servers refuse it within access.KnownFor.
func RevokeToken() Operation[TokenPath, None] {
	return Operation[TokenPath, None]{
		ID: "revokeToken", Method: deleteMethod, Path: "/v1/tokens/{name}", Role: access.RoleAdmin, Tag: "tokens",
		Summary: "Refuse a token from now on",
	}
}

// TokenStart is the input of IssueToken.
type TokenStart struct{ Body TokenRequest }

// AuditSubject implements Audited.
func (in *TokenStart) AuditSubject() string {
	of := strings.Join(in.Body.Namespaces, ",")
	if in.Body.AllNamespaces {
		of = "all namespaces"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", in.Body.Name, in.Body.Role, of))
}

// AuditReason implements Audited.
func (*TokenStart) AuditReason() string { return "" }

// TokenPath names a token.
type TokenPath struct {
	Name string `path:"name" doc:"The name of the token."`
}

// AuditSubject implements Audited.
func (in *TokenPath) AuditSubject() string { return in.Name }

// AuditReason implements Audited.
func (*TokenPath) AuditReason() string { return "" }

// Token is the known data of a token for the HTTP API.
type Token struct {
	Name          string   `json:"name"`
	Role          string   `json:"role" enum:"viewer,author,operator,admin"`
	Namespaces    []string `json:"namespaces,omitempty" nullable:"false" doc:"Whose workflows and runs its bearer sees."`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	HideData      bool     `json:"hideData,omitempty" doc:"Its bearer sees no data of runs."`
	CreatedAt     string   `json:"createdAt,omitempty" format:"date-time"`
	CreatedBy     string   `json:"createdBy,omitempty"`
	ExpiresAt     string   `json:"expiresAt,omitempty" format:"date-time"`
}

// NewToken returns the JSON of a token.
func NewToken(t access.Token) Token {
	return Token{
		Name: t.Name, Role: string(t.Role), Namespaces: t.Namespaces, AllNamespaces: t.Everywhere, HideData: t.HidesData,
		CreatedAt: Time(t.CreatedAt), CreatedBy: t.CreatedBy, ExpiresAt: Time(t.ExpiresAt),
	}
}

// IssuedToken is a new token. Its text cannot be read again.
type IssuedToken struct {
	Token
	Text string `json:"token" doc:"The text of the token. No other answer contains it."`
}

// TokenList is all tokens of a deployment.
type TokenList struct {
	Tokens []Token `json:"tokens" nullable:"false"`
}

// TokenRequest specifies a new token.
type TokenRequest struct {
	Name          string   `json:"name"`
	Role          string   `json:"role" enum:"viewer,author,operator,admin"`
	Namespaces    []string `json:"namespaces,omitempty" nullable:"false" example:"[\"demo\"]"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	HideData      bool     `json:"hideData,omitempty" doc:"A viewer sees the progress of runs, and no input, output or other data of them."`
	ExpiresIn     string   `json:"expiresIn,omitempty" doc:"How long it is taken; without it, until it is revoked."`
}
