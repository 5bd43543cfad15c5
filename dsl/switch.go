package dsl

// SwitchTask chooses where the flow goes on.
type SwitchTask struct {
	TaskBase
	Cases []SwitchCase
}

// Kind returns KindSwitch.
func (*SwitchTask) Kind() Kind { return KindSwitch }

// SwitchCase is one case. Without When it is the default, wherever it stands.
type SwitchCase struct {
	Pointer Pointer
	Name    string
	When    Expression
	Then    string
}
