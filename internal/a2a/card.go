package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/swrun/swrun/internal/shorten"
)

// Places returns where a host has the card of its agent: the last one is that of agents before version 0.3.
func Places() []string { return []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} }

// Card is what a call needs of the card of an agent.
type Card struct {
	URL     string // where the agent takes JSON-RPC
	Version Version
	Tenant  string // which of the agents that are there; empty for the only one

	security []protocol.SecurityRequirements
	schemes  protocol.NamedSecuritySchemes
}

// ParseCard reads a card. It is an error if the agent cannot be asked by JSON-RPC.
func ParseCard(data []byte) (*Card, error) {
	var newer cardOf1
	if err := json.Unmarshal(data, &newer); err == nil && len(newer.Interfaces) > 0 {
		return newer.card()
	}
	var card protocol.AgentCard
	if err := json.Unmarshal(data, &card); err != nil {
		return nil, fmt.Errorf("it is not the card of an agent: %s", fit(err))
	}
	version := versionOf(card.ProtocolVersion)
	if version == "" {
		return nil, fmt.Errorf("the agent speaks version %s of A2A: %s and %s can be spoken", shorten.To(card.ProtocolVersion, maxQuoted), V1, V03)
	}
	all := append([]protocol.AgentInterface{{Transport: cmp.Or(card.PreferredTransport, protocol.TransportProtocolJSONRPC), URL: card.URL}}, card.AdditionalInterfaces...)
	var others []string
	for _, one := range all {
		switch {
		case one.URL == "":
		case one.Transport == protocol.TransportProtocolJSONRPC:
			return &Card{URL: one.URL, Version: version, security: card.Security, schemes: card.SecuritySchemes}, nil
		default:
			others = append(others, string(one.Transport))
		}
	}
	if len(others) == 0 {
		return nil, errors.New("it is not the card of an agent: it has no `url`")
	}
	return nil, fmt.Errorf("the agent offers %s, of which none can be spoken: %s is", shorten.To(strings.Join(slices.Compact(others), ", "), maxQuoted), protocol.TransportProtocolJSONRPC)
}

// maxQuoted is how many bytes of a card a message quotes.
const maxQuoted = 300

// Admits returns an error that says what the agent wants, if it wants something else than a credential of a scheme; without a credential, the
// scheme is empty.
func (c *Card) Admits(scheme string) error {
	if len(c.security) == 0 {
		return nil
	}
	var wanted []string
	for _, all := range c.security {
		names := slices.Sorted(maps.Keys(all))
		if !slices.ContainsFunc(names, func(name protocol.SecuritySchemeName) bool { return !satisfies(c.schemes[name], scheme) }) {
			return nil
		}
		var texts []string
		for _, name := range names {
			texts = append(texts, fmt.Sprintf("%s (%s)", name, describe(c.schemes[name])))
		}
		wanted = append(wanted, strings.Join(texts, " and "))
	}
	given := "no credential"
	if scheme != "" {
		given = "one for " + scheme
	}
	return fmt.Errorf("the agent wants a credential for %s, and gets %s", shorten.To(strings.Join(wanted, ", or for "), maxQuoted), given)
}

// satisfies reports whether a credential is one that a scheme of a card asks for. Tokens are the same, however they were got.
func satisfies(wanted protocol.SecurityScheme, scheme string) bool {
	isToken := slices.Contains([]string{"bearer", "oauth2", "oidc"}, scheme)
	switch wanted := wanted.(type) {
	case protocol.HTTPAuthSecurityScheme:
		return strings.EqualFold(wanted.Scheme, scheme) || isToken && strings.EqualFold(wanted.Scheme, "bearer")
	case protocol.OAuth2SecurityScheme, protocol.OpenIDConnectSecurityScheme:
		return isToken
	case protocol.MutualTLSSecurityScheme:
		return scheme == "certificate"
	}
	return false // keys are nothing that a workflow can have
}

func describe(scheme protocol.SecurityScheme) string {
	switch scheme := scheme.(type) {
	case protocol.HTTPAuthSecurityScheme:
		return strings.ToLower(scheme.Scheme)
	case protocol.OAuth2SecurityScheme:
		return "oauth2"
	case protocol.OpenIDConnectSecurityScheme:
		return "oidc"
	case protocol.APIKeySecurityScheme:
		return "an API key, which is not supported"
	case protocol.MutualTLSSecurityScheme:
		return "certificate"
	}
	return "which the card does not describe"
}
