package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
	"github.com/swrun/swrun/runtime/store"
)

// Token is the known data of a token: everything except for the token itself.
type Token struct {
	Name string
	Grant
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // by the store's clock; zero for never
}

// Grant contains the rights of a token's bearer.
type Grant struct {
	Role       Role
	Namespaces []string
	Everywhere bool // all namespaces
	HidesData  bool // a viewer sees the progress of runs, and not their data
}

// Caller returns the caller that the token identifies.
func (t Token) Caller() Caller {
	return Caller{Name: t.Name, Role: t.Role, Namespaces: t.Namespaces, Everywhere: t.Everywhere, HidesData: t.HidesData, Since: t.CreatedAt.UTC().Format(time.RFC3339Nano)}
}

// InvalidError reports an impossible token.
type InvalidError struct {
	Field  string // name, role, namespaces, hideData or expiresIn
	Detail string
	Limit  *errors.Error // if a value is too large
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

// ErrUnknown reports that a text is no valid token of the deployment.
var ErrUnknown = errors.New("the token is not known, was revoked, or has expired")

// Tokens are the tokens of a deployment. Several goroutines may use them.
type Tokens struct {
	registry store.Registry
	now      func() time.Time
	known    known
}

// NewTokens returns the tokens of a registry; now is the clock of this process, nil for time.Now.
func NewTokens(r store.Registry, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{registry: r, now: now}
}

// stored is the entry of a token in the registry, under its name. The secret has 256 random bits, too many to try: a fast hash is enough.
type stored struct {
	Hash       []byte    `json:"hash"`
	Role       Role      `json:"role"`
	Namespaces []string  `json:"namespaces,omitempty"`
	Everywhere bool      `json:"everywhere,omitempty"`
	HidesData  bool      `json:"hidesData,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	CreatedBy  string    `json:"createdBy,omitempty"`
}

// prefix begins all tokens, so that programs that search for leaked credentials recognize them.
const prefix = "swrun_"

// New creates a token with an unused name, for some time; 0 means unlimited. The text is the token. It cannot be read again.
func (t *Tokens) New(ctx context.Context, name string, g Grant, lasts time.Duration, by string) (text string, made Token, err error) {
	if err := check(name, g, lasts); err != nil {
		return "", Token{}, err
	}
	secret := rand.Text() + rand.Text()
	s := stored{Hash: hash(secret), Role: g.Role, Namespaces: slices.Compact(slices.Sorted(slices.Values(g.Namespaces))), Everywhere: g.Everywhere, HidesData: g.HidesData, CreatedAt: t.now().UTC(), CreatedBy: by}
	value, err := store.EncodeEntry(store.RegistryTokens, s)
	if err != nil {
		return "", Token{}, fmt.Errorf("write a token: %w", err)
	}
	r, err := t.registry.Register(ctx, store.Registration{Kind: store.RegistryTokens, Key: name, Value: value, For: lasts})
	if store.RefusedAs(err) == store.Conflict {
		return "", Token{}, &store.Refusal{Code: store.Conflict, Detail: "the token " + name, Reason: "is there already: revoke it first, or choose another name"}
	}
	if err != nil {
		return "", Token{}, err
	}
	return prefix + name + "_" + secret, s.token(r), nil
}

// tokenName is the form of a token's name. It contains no underscore, so that the name ends at the first one.
var tokenName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxNamespaces is the maximum number of namespaces of a token.
const maxNamespaces = 100

func check(name string, g Grant, lasts time.Duration) error {
	switch {
	case !tokenName().MatchString(name):
		return &InvalidError{Field: "name", Detail: fmt.Sprintf("must be lower-case letters, digits and inner hyphens, at most 63, got %q", shorten.To(name, 80))}
	case name == LocalName:
		return &InvalidError{Field: "name", Detail: `"local" is what callers without a token are called`}
	case CheckRole(g.Role) != nil:
		return CheckRole(g.Role)
	case g.HidesData && g.Role != RoleViewer:
		return &InvalidError{Field: "hideData", Detail: fmt.Sprintf("data can be hidden from the role %s alone: %s needs it", RoleViewer, g.Role)}
	case lasts < 0:
		return &InvalidError{Field: "expiresIn", Detail: "must not be negative"}
	case lasts > 0 && lasts < time.Second:
		return &InvalidError{Field: "expiresIn", Detail: "must be at least 1s"}
	case g.Everywhere && len(g.Namespaces) > 0:
		return &InvalidError{Field: "namespaces", Detail: "a token is for all namespaces or for some, not for both"}
	case !g.Everywhere && len(g.Namespaces) == 0:
		return &InvalidError{Field: "namespaces", Detail: "a token without a namespace could see nothing: name some, or say that it is for all"}
	case len(g.Namespaces) > maxNamespaces:
		return &InvalidError{Field: "namespaces", Detail: fmt.Sprintf("at most %d, got %d", maxNamespaces, len(g.Namespaces))}
	}
	for _, n := range g.Namespaces {
		err := store.CheckNamespace(n)
		if limit := errors.AsError(err); limit != nil {
			return &InvalidError{Field: "namespaces", Detail: limit.Detail, Limit: limit}
		}
		if err != nil {
			return &InvalidError{Field: "namespaces", Detail: err.Error()}
		}
	}
	return nil
}

// CheckRole refuses a role that tokens cannot have with an *InvalidError.
func CheckRole(r Role) error {
	if slices.Contains(Granted(), r) {
		return nil
	}
	return &InvalidError{Field: "role", Detail: roles(r)}
}

func roles(got Role) string {
	var all []string
	for _, r := range Granted() {
		all = append(all, string(r))
	}
	text := "must be one of " + strings.Join(all, ", ")
	if got == "" {
		return text
	}
	text += fmt.Sprintf(", got %q", shorten.To(string(got), 80))
	if near := suggest.Nearest(string(got), all); near != "" {
		text += ", did you mean " + near + "?"
	}
	return text
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func (s stored) token(r store.Registered) Token {
	return Token{
		Name: r.Key, Grant: Grant{Role: s.Role, Namespaces: s.Namespaces, Everywhere: s.Everywhere, HidesData: s.HidesData},
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, ExpiresAt: r.Ends,
	}
}

// decode reads an entry of a token.
func decode(r store.Registered) (stored, error) {
	s, err := store.DecodeEntry[stored](store.RegistryTokens, r)
	if err == nil && (len(s.Hash) != sha256.Size || !slices.Contains(Granted(), s.Role)) {
		err = store.RefuseUnreadable(store.RegistryTokens.EntryName(r.Key), errors.New("it lacks the digest or the role of the token"), time.Time{})
	}
	return s, err
}

// CheckEntry returns the reason why an entry of the tokens cannot be read.
func CheckEntry(r store.Registered) error {
	_, err := decode(r)
	return err
}

// List returns all tokens, by their names.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	all, err := t.registry.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryTokens})
	if err != nil {
		return nil, err
	}
	tokens := []Token{}
	for _, r := range all {
		s, err := decode(r)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, s.token(r))
	}
	return tokens, nil
}

// Revoke deletes a token. Servers refuse it within KnownFor.
func (t *Tokens) Revoke(ctx context.Context, name string) error {
	refusal := &store.Refusal{Code: store.NoSuch, Detail: "token " + shorten.To(name, 80)}
	if !tokenName().MatchString(name) {
		return refusal
	}
	r, err := t.registry.Registered(ctx, store.RegistryTokens, name)
	if store.RefusedAs(err) == store.NoSuch {
		return refusal
	}
	if store.RefusedAs(err) == store.Corrupt {
		r.Version, err = store.AnyVersion, nil // no caller can use it, and its name becomes free
	}
	if err != nil {
		return err
	}
	t.known.forget(name)
	return t.registry.Unregister(ctx, store.RegistryTokens, name, r.Version)
}

// Authenticate returns the caller that a token identifies. ErrUnknown refuses it; any other error means that the store did not answer.
func (t *Tokens) Authenticate(ctx context.Context, text string) (Caller, error) {
	name, secret, ok := strings.Cut(strings.TrimPrefix(text, prefix), "_")
	if !ok || !strings.HasPrefix(text, prefix) || !tokenName().MatchString(name) {
		return Caller{}, ErrUnknown
	}
	given, now := hash(secret), t.now()
	s, ok := t.known.of(name, now)
	if !ok {
		r, err := t.registry.Registered(ctx, store.RegistryTokens, name)
		if store.RefusedAs(err) == store.NoSuch {
			return Caller{}, ErrUnknown
		}
		if err != nil {
			return Caller{}, err
		}
		if s.stored, err = decode(r); err != nil {
			return Caller{}, err
		}
		s.name, s.ends = name, r.Ends
	}
	if len(s.Hash) != sha256.Size || subtle.ConstantTimeCompare(given, s.Hash) != 1 {
		return Caller{}, ErrUnknown
	}
	if !ok {
		t.known.add(s, now)
	}
	return s.token(store.Registered{Key: cmp.Or(s.name, name), Ends: s.ends}).Caller(), nil
}
