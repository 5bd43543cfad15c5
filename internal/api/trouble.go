package api

import (
	"strings"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
)

// ListTrouble lists the groups of runs in trouble.
func ListTrouble() Operation[TroubleQuery, Trouble] {
	return Operation[TroubleQuery, Trouble]{
		ID: "listTrouble", Method: getMethod, Path: "/v1/trouble", Role: access.RoleViewer, Tag: "runs",
		Summary:     "The runs that go wrong, in groups of the same error, workflow, task and host",
		Description: "Groups that are acknowledged are left out until trouble of their kind begins again.",
	}
}

// AcknowledgeTrouble acknowledges groups of trouble, all of them or none.
func AcknowledgeTrouble() Operation[TroubleCommand, []TroubleGroup] {
	return Operation[TroubleCommand, []TroubleGroup]{
		ID: "acknowledgeTrouble", Method: postMethod, Path: "/v1/trouble/acknowledge", Role: access.RoleOperator, Tag: "runs",
		Summary:     "Leave groups of trouble out of the list until trouble of their kind begins again",
		Description: "All groups are acknowledged or none. Their runs are not changed. Answers with the groups.",
	}
}

// UnacknowledgeTrouble removes acknowledgements of groups of trouble, all of them or none.
func UnacknowledgeTrouble() Operation[TroubleCommand, []TroubleGroup] {
	return Operation[TroubleCommand, []TroubleGroup]{
		ID: "unacknowledgeTrouble", Method: postMethod, Path: "/v1/trouble/unacknowledge", Role: access.RoleOperator, Tag: "runs",
		Summary: "Take back that groups of trouble are acknowledged",
	}
}

// ChoiceQuery selects runs.
type ChoiceQuery struct {
	Where     string `query:"where" maxLength:"16384" doc:"Which runs: the filter of swrun ls --where." example:"status=running,waiting workflow=demo/*"`
	Namespace string `query:"namespace" doc:"Only runs of this namespace."`
}

// TroubleQuery selects groups of trouble.
type TroubleQuery struct {
	ChoiceQuery
	All bool `query:"all" doc:"Also the groups that are acknowledged."`
}

// TroubleCommand is a command about groups of trouble.
type TroubleCommand struct {
	Namespace string `query:"namespace" doc:"Only groups of this namespace."`
	Body      TroubleChoice
}

// AuditSubject implements Audited.
func (in *TroubleCommand) AuditSubject() string {
	return strings.Join(in.Body.Groups, " ")
}

// AuditReason implements Audited.
func (in *TroubleCommand) AuditReason() string { return in.Body.Reason }

// Trouble is the runs in trouble, in groups.
type Trouble struct {
	Groups []TroubleGroup `json:"groups" nullable:"false" doc:"The largest first."`
	// Acknowledged counts the groups that are left out.
	Acknowledged int `json:"acknowledged" doc:"The number of omitted groups: they are acknowledged, and no trouble of their kind began since."`
	Unreadable   int `json:"unreadable,omitempty" doc:"How many runs cannot be read, and might be among them."`
}

// TroubleGroup is a group of runs with the same trouble.
type TroubleGroup struct {
	Group        string           `json:"group" doc:"The id of the group. The same error, workflow, task and host always have the same id." example:"3f9a1c77e0"`
	Trouble      string           `json:"trouble" doc:"The type of the error, or quarantined." example:"communication"`
	Workflow     string           `json:"workflow" example:"demo/order:1.0.0"`
	Task         string           `json:"task,omitempty" example:"/do/0/charge"`
	Host         string           `json:"host,omitempty" doc:"That the task has called, or the image that it has run."`
	Runs         int              `json:"runs" doc:"The number of runs in this trouble, without acknowledged runs."`
	Known        int              `json:"acknowledgedRuns,omitempty" doc:"The number of further runs whose trouble began before the group was acknowledged."`
	Where        string           `json:"where" doc:"The filter that chooses the runs that are counted by runs." example:"group=3f9a1c77e0 acknowledged=no"`
	First        string           `json:"firstSince,omitempty" doc:"The begin of the trouble of the first run, acknowledged runs included."`
	Last         string           `json:"lastSince,omitempty" doc:"The same of the last."`
	Acknowledged *Acknowledgement `json:"acknowledged,omitempty" doc:"The last acknowledgement; absent if the group is not acknowledged."`
}

// Acknowledgement records that trouble is known.
type Acknowledgement struct {
	At     string `json:"at"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TroubleChoice names groups of trouble.
type TroubleChoice struct {
	Groups []string `json:"groups" minItems:"1" maxItems:"100" uniqueItems:"true" doc:"The ids of the groups." example:"[\"3f9a1c77e0\"]"`
	Reason string   `json:"reason,omitempty" doc:"Why; lists and the audit log show it."`
}

func newAcknowledgement(a *filter.Acknowledgement) *Acknowledgement {
	if a == nil {
		return nil
	}
	return &Acknowledgement{At: Time(a.At), Actor: a.Actor, Reason: a.Reason}
}

// NewTroubleGroups returns the JSON of groups of trouble.
func NewTroubleGroups(all []client.TroubleGroup) []TroubleGroup {
	groups := []TroubleGroup{}
	for _, g := range all {
		groups = append(groups, TroubleGroup{
			Group: g.Key(), Trouble: g.Trouble, Workflow: g.Workflow, Task: g.Task, Host: g.Host, Runs: g.Runs, Known: g.Covered,
			Where: "group=" + g.Key() + " acknowledged=no", First: Time(g.First), Last: Time(g.Last), Acknowledged: newAcknowledgement(g.Acknowledged),
		})
	}
	return groups
}
