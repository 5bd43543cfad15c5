package server

import "github.com/swrun/swrun/internal/api"

// queueRoutes serves the task queues, and their limits and pauses.
func (s *Server) queueRoutes() {
	serve(s, api.ListQueues(), s.control.Queues)
	serve(s, api.LimitQueue(), s.control.LimitQueue)
	serve(s, api.PauseQueue(), s.control.PauseQueue)
	serve(s, api.ResumeQueue(), s.control.ResumeQueue)
}
