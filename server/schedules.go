package server

import "github.com/swrun/swrun/internal/api"

// scheduleRoutes serves the schedules of the deployed workflows, and their pauses and triggers.
func (s *Server) scheduleRoutes() {
	serveList(s, api.ListSchedules(), s.control.Schedules, api.Schedule.Key)
	serve(s, api.GetSchedule(), s.control.Schedule)
	serve(s, api.PauseSchedule(), s.control.PauseSchedule)
	serve(s, api.ResumeSchedule(), s.control.ResumeSchedule)
	serve(s, api.TriggerSchedule(), s.control.TriggerSchedule)
}
