package interpreter

// Metadata is the part of a start besides its input. Expressions see it as $runtime.metadata.
type Metadata struct {
	BusinessKey string
	Labels      map[string]string
}

// metadata returns the value of $runtime.metadata.
func (s *State) metadata() map[string]any {
	labels := make(map[string]any, len(s.Metadata.Labels))
	for name, value := range s.Metadata.Labels {
		labels[name] = value
	}
	v := map[string]any{"namespace": s.Namespace, "executionId": s.ID, "runNumber": s.RunNumber(), "labels": labels}
	if s.Metadata.BusinessKey != "" {
		v["businessKey"] = s.Metadata.BusinessKey
	}
	return v
}
