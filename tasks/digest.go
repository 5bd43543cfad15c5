package tasks

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"

	"github.com/icholy/digest"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// digested sends a request once more, with the digest that its answer requires. If the server then reports that only its nonce is too old, it sends
// the request with another digest, once.
func (c challenged) digested(e *exchange, request *http.Request, response *http.Response) (*http.Response, error) {
	for range 2 {
		challenge, err := findDigest(response.Header)
		if err != nil {
			response.Body.Close()
			return nil, err
		}
		if challenge == nil {
			return response, nil // the refusal is the answer
		}
		again, err := e.answer(request, response, challenge)
		if err != nil {
			return nil, err
		}
		if response, err = sendOnce(c.RoundTripper, again); err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusUnauthorized || !asksForNewNonce(response.Header) {
			break
		}
	}
	return response, nil
}

// findDigest returns the first challenge of a header that can be answered with a digest: a server lists its preferred challenge first. It returns nil
// if there is no challenge, and an error if no challenge can be answered.
func findDigest(header http.Header) (*digest.Challenge, error) {
	var why []string
	for _, text := range challenges(header) {
		challenge, err := parseDigest(text)
		switch {
		case err != nil:
			why = append(why, err.Error())
		case challenge != nil:
			return challenge, nil
		default:
			scheme, _, _ := strings.Cut(text, " ")
			why = append(why, fmt.Sprintf("it asks for the scheme %.40q", scheme))
		}
	}
	if len(why) == 0 {
		return nil, nil
	}
	return nil, errors.Authenticationf("digest authentication cannot answer the server: %s", cut(strings.Join(why, "; ")))
}

// parseDigest returns a challenge, nil if it is of another scheme. The error explains why it cannot be answered.
func parseDigest(text string) (*digest.Challenge, error) {
	if !digest.IsDigest(text) {
		return nil, nil
	}
	challenge, err := digest.ParseChallenge(text)
	if err != nil {
		return nil, errors.New("its challenge cannot be read")
	}
	for i, quality := range challenge.QOP {
		challenge.QOP[i] = strings.ToLower(strings.TrimSpace(quality))
	}
	plain := *challenge
	plain.Algorithm, _ = ofSession(challenge.Algorithm)
	switch {
	case challenge.Nonce == "":
		return nil, errors.New("its challenge has no nonce")
	case digest.CanDigest(&plain):
		return challenge, nil
	case newHash(plain.Algorithm) == nil:
		return nil, fmt.Errorf("it asks for the algorithm %.40q, and MD5, SHA-256, SHA-512-256 and SHA-512 are known", challenge.Algorithm)
	}
	return nil, fmt.Errorf("it asks for the quality of protection %.40q, and auth and auth-int are known", strings.Join(challenge.QOP, ","))
}

func asksForNewNonce(header http.Header) bool {
	challenge, err := findDigest(header)
	return err == nil && challenge != nil && challenge.Stale
}

// ofSession returns an algorithm without the suffix -sess, and whether it had the suffix.
func ofSession(algorithm string) (plain string, session bool) {
	const suffix = "-sess"
	at := len(algorithm) - len(suffix)
	if at < 0 || !strings.EqualFold(algorithm[at:], suffix) {
		return algorithm, false
	}
	return algorithm[:at], true
}

// digestOf returns the digest for a challenge.
func digestOf(challenge *digest.Challenge, o digest.Options) (*digest.Credentials, error) {
	plain, session := ofSession(challenge.Algorithm)
	if !session {
		return digest.Digest(challenge, o)
	}
	o.Cnonce = rand.Text()
	user := hashed(plain, o.Username, challenge.Realm, o.Password)
	o.A1 = hashed(plain, user, challenge.Nonce, o.Cnonce) // RFC 7616, section 3.4.2
	asked := *challenge
	asked.Algorithm = plain
	answer, err := digest.Digest(&asked, o)
	if err == nil {
		answer.Algorithm = challenge.Algorithm
	}
	return answer, err
}

// newHash returns the hash of an algorithm; nil if it is not known.
func newHash(algorithm string) hash.Hash {
	switch strings.ToUpper(algorithm) {
	case "", "MD5":
		return md5.New()
	case "SHA-256":
		return sha256.New()
	case "SHA-512":
		return sha512.New()
	case "SHA-512-256":
		return sha512.New512_256()
	}
	return nil
}

func hashed(algorithm string, parts ...string) string {
	h := newHash(algorithm)
	h.Write([]byte(strings.Join(parts, ":"))) // no hash fails
	return hex.EncodeToString(h.Sum(nil))
}

var (
	// beginsChallenge matches a part of a list of challenges that begins one: a scheme, alone or before text that does not begin with the equals sign of
	// a parameter.
	beginsChallenge = lazyregexp.New("^([!#$%&'*+.^_`|~0-9A-Za-z-]+)([ \t]+([^= \t].*))?$")
	parameter       = lazyregexp.New("^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=[ \t]*(.*)$")
)

// challenges returns the challenges of a response, each as a separate text. Several challenges may be in one field, with commas between them, and
// with commas between their parameters too (RFC 9110, section 11.6.1).
func challenges(header http.Header) (all []string) {
	for _, value := range header.Values("WWW-Authenticate") {
		first := true
		for _, part := range atCommas(value) {
			scheme, rest := "", part
			if begins := beginsChallenge().FindStringSubmatch(part); begins != nil {
				scheme, rest = begins[1], begins[3]
			}
			if named := parameter().FindStringSubmatch(rest); named != nil {
				rest = strings.ToLower(named[1]) + "=" + named[2]
			}
			switch {
			case scheme != "":
				all, first = append(all, strings.TrimSpace(scheme+" "+rest)), true
			case len(all) == 0:
			case first && !strings.Contains(all[len(all)-1], " "):
				all[len(all)-1] += " " + rest
			default:
				all[len(all)-1] += ", " + rest
			}
			first = false
		}
	}
	return all
}

// atCommas splits a list at its commas, but not at those within quotes. Empty parts are left out.
func atCommas(text string) (parts []string) {
	start, quoted := 0, false
	add := func(end int) {
		if part := strings.TrimSpace(text[start:end]); part != "" {
			parts = append(parts, part)
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			add(i)
		}
	}
	add(len(text))
	return parts
}
