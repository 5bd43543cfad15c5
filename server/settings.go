package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	settingsListAnswer struct {
		Body []api.Settings `nullable:"false"`
	}
	settingsAnswer  struct{ Body api.Settings }
	settingsRequest struct{ Body api.SettingsChange }
	settingsPath    struct {
		Namespace string `path:"namespace" doc:"Of workflows and runs." example:"demo"`
	}
	changeSettingsRequest struct {
		Namespace string `path:"namespace" doc:"Of workflows and runs." example:"demo"`
		Body      api.SettingsChange
	}
)

// settingsRoutes serves the default and maximum timeouts of the deployment and of namespaces.
func (s *Server) settingsRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{"deployment"}, Summary: summary}
	}
	const path = "/v1/settings"
	route(s, RoleViewer, operation("listSettings", http.MethodGet, path, "What is set for the deployment and for namespaces"), func(ctx context.Context, _ *struct{}) (*settingsListAnswer, error) {
		all, err := s.control.Settings(ctx)
		seen := []api.Settings{}
		for _, set := range all {
			if set.Namespace == "" || callerOf(ctx).Sees(set.Namespace) {
				seen = append(seen, set)
			}
		}
		return &settingsListAnswer{seen}, err
	})
	route(s, RoleAdmin, operation("changeSettings", http.MethodPost, path, "Set timeouts for the deployment, or take them back"), func(ctx context.Context, in *settingsRequest) (*settingsAnswer, error) {
		set, err := s.control.ChangeSettings(ctx, "", in.Body)
		return &settingsAnswer{set}, err
	})
	route(s, RoleViewer, operation("getSettings", http.MethodGet, path+"/{namespace}", "What holds in a namespace"), func(ctx context.Context, in *settingsPath) (*settingsAnswer, error) {
		if err := checkNamespace(in.Namespace); err != nil {
			return nil, err
		}
		set, err := s.control.NamespaceSettings(ctx, in.Namespace)
		return &settingsAnswer{set}, err
	})
	route(s, RoleAdmin, operation("changeNamespaceSettings", http.MethodPost, path+"/{namespace}", "Set timeouts for a namespace, or take them back"), func(ctx context.Context, in *changeSettingsRequest) (*settingsAnswer, error) {
		if err := checkNamespace(in.Namespace); err != nil {
			return nil, err
		}
		set, err := s.control.ChangeSettings(ctx, in.Namespace, in.Body)
		return &settingsAnswer{set}, err
	})
}
