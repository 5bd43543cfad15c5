package server

import "github.com/swrun/swrun/internal/api"

// troubleRoutes serves the groups of runs in trouble, and the acknowledgements of groups.
func (s *Server) troubleRoutes() {
	serve(s, api.ListTrouble(), s.control.Trouble)
	serve(s, api.AcknowledgeTrouble(), s.control.Acknowledge)
	serve(s, api.UnacknowledgeTrouble(), s.control.Unacknowledge)
}
