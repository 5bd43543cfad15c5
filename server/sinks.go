package server

import "github.com/swrun/swrun/internal/api"

// sinkRoutes serves the sinks of events, and their dead letters.
func (s *Server) sinkRoutes() {
	serve(s, api.ListSinks(), s.control.Sinks)
	serve(s, api.RetryDeadLetters(), s.control.RetryDeadLetters)
	serve(s, api.DropDeadLetters(), s.control.DropDeadLetters)
}
