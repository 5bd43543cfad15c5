package dsl

// RunContainer runs a container.
type RunContainer struct {
	TaskBase
	RunBase
	Process
	Image        string
	Container    string // name of the container, may be a ${ } expression
	Command      string
	Ports        map[string]any
	Volumes      map[string]any
	PullPolicy   string // ifNotPresent (default), always or never
	Cleanup      string // never (default), always or eventually
	CleanupAfter *Duration
}

// Kind returns KindRunContainer.
func (*RunContainer) Kind() Kind { return KindRunContainer }
