package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	protocol "github.com/a2aproject/a2a-go/a2a"
	current "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/swrun/swrun/internal/shorten"
)

// cardOf1 is a card of version 1.0. The scopes of a scheme are ignored, because some agents write them as a list and others as an object.
type cardOf1 struct {
	Interfaces []current.AgentInterface     `json:"supportedInterfaces"`
	Schemes    current.NamedSecuritySchemes `json:"securitySchemes"`
	Security   []struct {
		Schemes map[protocol.SecuritySchemeName]json.RawMessage `json:"schemes"`
	} `json:"securityRequirements"`
}

// card returns the parts that a call needs: the interface of the newest supported version.
func (c cardOf1) card() (*Card, error) {
	var best *Card
	var others []string
	for _, one := range c.Interfaces {
		version := versionOf(string(one.ProtocolVersion))
		switch {
		case one.URL == "":
		case one.ProtocolBinding != current.TransportProtocolJSONRPC || version == "":
			others = append(others, strings.TrimSpace(fmt.Sprintf("%s %s", one.ProtocolBinding, one.ProtocolVersion)))
		case best == nil || version == V1 && best.Version != V1:
			best = &Card{URL: one.URL, Version: version, Tenant: one.Tenant}
		}
	}
	if best == nil && len(others) == 0 {
		return nil, errors.New("it is not the card of an agent: its interfaces have no `url`")
	}
	if best == nil {
		return nil, fmt.Errorf("the agent offers %s, of which none can be spoken: %s %s and %s are", shorten.To(strings.Join(slices.Compact(others), ", "), maxQuoted),
			current.TransportProtocolJSONRPC, V1, V03)
	}
	best.schemes = schemesOf1(c.Schemes)
	for _, all := range c.Security {
		needed := protocol.SecurityRequirements{}
		for name := range all.Schemes {
			needed[name] = nil
		}
		best.security = append(best.security, needed)
	}
	return best, nil
}

// schemesOf1 returns schemes in the types of version 0.3, with the same meaning.
func schemesOf1(schemes current.NamedSecuritySchemes) protocol.NamedSecuritySchemes {
	all := protocol.NamedSecuritySchemes{}
	for name, scheme := range schemes {
		of := protocol.SecuritySchemeName(name)
		switch scheme := scheme.(type) {
		case current.HTTPAuthSecurityScheme:
			all[of] = protocol.HTTPAuthSecurityScheme{Scheme: scheme.Scheme}
		case current.OAuth2SecurityScheme:
			all[of] = protocol.OAuth2SecurityScheme{}
		case current.OpenIDConnectSecurityScheme:
			all[of] = protocol.OpenIDConnectSecurityScheme{}
		case current.MutualTLSSecurityScheme:
			all[of] = protocol.MutualTLSSecurityScheme{}
		case current.APIKeySecurityScheme:
			all[of] = protocol.APIKeySecurityScheme{}
		}
	}
	return all
}

// versionOf returns the version for calling an agent that names its version; empty if the version is not supported. Cards before 1.0 may name no
// version.
func versionOf(said string) Version {
	switch major, _, _ := strings.Cut(strings.TrimPrefix(said, "v"), "."); major {
	case "", "0":
		return V03
	case "1":
		return V1
	}
	return ""
}
