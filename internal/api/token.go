package api

import "github.com/swrun/swrun/internal/access"

// Token is what is known of a token for the HTTP API.
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

// IssuedToken is a token that has just been made. Nobody can be told its text again.
type IssuedToken struct {
	Token
	Text string `json:"token" doc:"The token itself, which is told only here."`
}

// TokenList is all tokens of a deployment.
type TokenList struct {
	Tokens []Token `json:"tokens" nullable:"false"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name          string   `json:"name"`
	Role          string   `json:"role" enum:"viewer,author,operator,admin"`
	Namespaces    []string `json:"namespaces,omitempty" nullable:"false" example:"[\"demo\"]"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	HideData      bool     `json:"hideData,omitempty" doc:"A viewer sees what runs do, and no input, output, or other data of them."`
	ExpiresIn     string   `json:"expiresIn,omitempty" doc:"How long it is taken; without it, until it is revoked."`
}
