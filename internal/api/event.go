package api

// Published says what has become of events that were published.
type Published struct {
	Accepted int `json:"accepted" doc:"How many events are stored, those among them that had been published before."`
	// Matched are the runs that got one of them at least. Whether their tasks consume it is for them to find out.
	Matched   []RunName `json:"matched" nullable:"false" doc:"The runs that listen for one of them."`
	Full      []RunName `json:"full,omitempty" doc:"The runs that listen for one of them and did not get it, since too much waits for them already."`
	Started   []RunName `json:"started" nullable:"false" doc:"The runs that one of them has started."`
	Unmatched int       `json:"unmatched" doc:"How many events nobody listened for."`
	Waiting   int       `json:"waiting,omitempty" doc:"How many events wait for others, with which they start a run."`
	Repeated  int       `json:"repeated,omitempty" doc:"How many events had been published before, so that nobody got them again."`
}

// RunName names a run.
type RunName struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}
