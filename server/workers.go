package server

import "github.com/swrun/swrun/internal/api"

// workerRoutes serves the list of workers.
func (s *Server) workerRoutes() {
	serve(s, api.ListWorkers(), s.control.Workers)
}
