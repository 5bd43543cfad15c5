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

// Places returns the paths of a host's agent card. The last path is used by agents before version 0.3.
func Places() []string { return []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} }

// Card contains the parts of an agent's card that a call needs.
type Card struct {
	URL     string // the address at which the agent accepts JSON-RPC
	Version Version
	Tenant  string // identifies the agent at the address; empty for the only one

	security []protocol.SecurityRequirements
	schemes  protocol.NamedSecuritySchemes
}

// ParseCard reads a card. An agent that cannot be called by JSON-RPC is an error.
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

// maxQuoted is the maximum number of bytes of a card in a message.
const maxQuoted = 300

// Admits returns an error with the agent's requirement, if the agent requires something else than a credential of a scheme; the scheme is empty
// without a credential.
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

// satisfies reports whether a credential meets a scheme of a card. Tokens count as equal, regardless of their origin.
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
	return false // workflows do not support keys
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
