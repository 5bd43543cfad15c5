package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// assertionType is the type of a JWT that proves the identity of a client.
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// maxAssertion is the validity of such a proof. Servers refuse proofs with a long validity.
const maxAssertion = time.Minute

// identify adds the client and the proof of its identity to a request.
func (c Client) identify(request *clientcredentials.Config, now time.Time) error {
	request.ClientID, request.AuthStyle = c.ID, oauth2.AuthStyleInParams
	switch c.method() {
	case methodBasic:
		request.ClientSecret, request.AuthStyle = c.Secret, oauth2.AuthStyleInHeader
	case methodPost:
		request.ClientSecret = c.Secret
	case methodSecretJWT, methodKeyJWT:
		assertion, err := c.assertion(request.TokenURL, now)
		if err != nil {
			return err
		}
		request.EndpointParams.Set("client_assertion_type", assertionType)
		request.EndpointParams.Set("client_assertion", assertion)
	}
	return nil
}

// assertion returns the proof in the policy, or makes one for a server.
func (c Client) assertion(server string, now time.Time) (string, error) {
	if c.Assertion != "" {
		return c.Assertion, nil
	}
	key := jose.SigningKey{Algorithm: jose.HS256, Key: []byte(c.Secret)}
	if c.method() == methodKeyJWT {
		var err error
		if key, err = signingKey([]byte(c.Secret)); err != nil {
			return "", err
		}
	}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", errors.New("no assertion can be signed with the client's secret")
	}
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: c.ID, Subject: c.ID, Audience: jwt.Audience{server}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(maxAssertion)),
	}).Serialize()
	if err != nil {
		return "", errors.New("no assertion can be signed with the client's secret")
	}
	return text, nil
}

// errKey is the only message about an invalid key, because its text is a secret.
var errKey = errors.New("the client's secret must be a private key, RSA, EC or Ed25519, as PEM or JWK")

// signingKey reads a private key, as PEM or as JWK.
func signingKey(text []byte) (jose.SigningKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(text); err != nil || key.IsPublic() || !key.Valid() {
			return jose.SigningKey{}, errKey
		}
		algorithm := jose.SignatureAlgorithm(key.Algorithm)
		if algorithm == "" {
			algorithm = algorithmOf(key.Key)
		}
		if algorithm == "" {
			return jose.SigningKey{}, errKey
		}
		return jose.SigningKey{Algorithm: algorithm, Key: key}, nil
	}
	key := privateKey(block.Bytes)
	if algorithm := algorithmOf(key); algorithm != "" {
		return jose.SigningKey{Algorithm: algorithm, Key: key}, nil
	}
	return jose.SigningKey{}, errKey
}

// privateKey returns a key in any of the forms that tools write; nil if it is no key.
func privateKey(der []byte) any {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// algorithmOf returns the algorithm for a key; "" if there is no algorithm.
func algorithmOf(key any) jose.SignatureAlgorithm {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256
	case ed25519.PrivateKey:
		return jose.EdDSA
	case *ecdsa.PrivateKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return jose.ES256
		case 384:
			return jose.ES384
		case 521:
			return jose.ES512
		}
	}
	return ""
}
