package conformance

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"

	httpdigest "github.com/icholy/digest"
)

// contents answers with the content that a case requests.
func contents(mux *http.ServeMux) {
	mux.HandleFunc("/content", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		body, err := base64.StdEncoding.DecodeString(query.Get("base64"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", query.Get("type"))
		for _, cookie := range query["cookie"] {
			w.Header().Add("Set-Cookie", cookie)
		}
		if status, err := strconv.Atoi(query.Get("status")); err == nil {
			w.WriteHeader(status)
		}
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/hexadecimal", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the answer shows a broken body
		answer(map[string]any{"type": r.Header.Get("Content-Type"), "body": hex.EncodeToString(body)})(w, r)
	})
	mux.HandleFunc("/digests/{kind}", digests)
}

// digests requests a digest of the given kind, and checks the answer by RFC 7616.
func digests(w http.ResponseWriter, r *http.Request) {
	ask := func(challenges ...string) {
		for _, c := range challenges {
			w.Header().Add("WWW-Authenticate", c)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
	given, err := httpdigest.ParseCredentials(r.Header.Get("Authorization"))
	switch kind := r.PathValue("kind"); {
	case err == nil && isDigest(given, r):
		answer(map[string]any{"digest": given.Username, "algorithm": given.Algorithm, "nonce": given.Nonce})(w, r)
	case err == nil && given.Nonce == "old":
		ask(`Digest realm="r", nonce="new", qop="auth", stale=true`)
	case kind == "beside":
		ask(`Basic realm="a, b", Negotiate, Digest realm="r", nonce="n", qop="auth, auth-int", algorithm=SHA-256`)
	case kind == "session":
		ask(`Digest realm="r", nonce="n", qop="auth", algorithm=MD5-sess`)
	case kind == "session256":
		ask(`Digest realm="r" , nonce = "n",qop=auth, algorithm="SHA-256-sess",`)
	case kind == "stale":
		ask(`Digest realm="r", nonce="old", qop="auth"`)
	case kind == "second":
		ask(`Digest realm="r", nonce="n", algorithm=SHA3-256, qop="auth", Digest realm="r", nonce="m", algorithm=SHA-256, qop="auth"`)
	case kind == "basic":
		ask(`Basic realm="r"`, "Bearer")
	case kind == "unknown":
		ask(`Digest realm="r", nonce="n", algorithm=SHA3-256`)
	case kind == "quality":
		ask(`Digest realm="r", nonce="n", qop="auth-conf"`)
	default:
		ask()
	}
}

// isDigest reports whether a digest is correct for ada's password and a request, with a nonce that is still valid.
func isDigest(given *httpdigest.Credentials, r *http.Request) bool {
	plain, session := strings.CutSuffix(strings.ToUpper(given.Algorithm), "-SESS")
	hashed := func(parts ...string) string {
		h := map[string]func() hash.Hash{"SHA-256": sha256.New}[plain]
		if h == nil {
			h = md5.New
		}
		sum := h()
		_, _ = io.WriteString(sum, strings.Join(parts, ":")) // no hash fails
		return hex.EncodeToString(sum.Sum(nil))
	}
	user := hashed("ada", given.Realm, "lovelace")
	if session {
		user = hashed(user, given.Nonce, given.Cnonce)
	}
	want := hashed(user, given.Nonce, "00000001", given.Cnonce, given.QOP, hashed(r.Method, r.URL.RequestURI()))
	return given.Nonce != "old" && given.Username == "ada" && given.Response == want
}
