package server

import "github.com/swrun/swrun/internal/api"

// settingsRoutes serves the settings of the deployment and of namespaces.
func (s *Server) settingsRoutes() {
	serve(s, api.ListSettings(), s.control.Settings)
	serve(s, api.ChangeSettings(), s.control.ChangeSettings)
	serve(s, api.GetSettings(), s.control.NamespaceSettings)
	serve(s, api.ChangeNamespaceSettings(), s.control.ChangeNamespaceSettings)
}
