package server

import "github.com/swrun/swrun/internal/api"

// tokenRoutes issue, list and revoke tokens.
func (s *Server) tokenRoutes() {
	serve(s, api.IssueToken(), s.control.IssueToken)
	serve(s, api.ListTokens(), s.control.ListTokens)
	serveDone(s, api.RevokeToken(), s.control.RevokeToken)
}
