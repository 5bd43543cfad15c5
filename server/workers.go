package server

import "github.com/swrun/swrun/internal/api"

// workerRoutes serves the workers that are there.
func (s *Server) workerRoutes() {
	serve(s, api.ListWorkers(), s.control.Workers)
}
