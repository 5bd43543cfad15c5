package server

import "github.com/swrun/swrun/internal/api"

// deadMessageRoutes serves the messages that sources could not publish. A caller sees the messages of a source whose events reach only namespaces of
// the caller.
func (s *Server) deadMessageRoutes() {
	serve(s, api.ListDeadMessages(), s.control.DeadMessages)
	serve(s, api.GetDeadMessage(), s.control.DeadMessage)
	serve(s, api.RetryDeadMessages(), s.control.RetryDeadMessages)
	serve(s, api.DropDeadMessages(), s.control.DropDeadMessages)
}
