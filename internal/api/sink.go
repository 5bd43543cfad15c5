package api

// Sink is where a server sends events.
type Sink struct {
	Name        string       `json:"name"`
	Kind        string       `json:"kind" example:"http"`
	Active      bool         `json:"active" doc:"A server sends to it."`
	DeadLetters []DeadLetter `json:"deadLetters" nullable:"false" doc:"The last events that it has refused, or not taken for long."`
}

// DeadLetter is an event that a sink has not taken.
type DeadLetter struct {
	ID    string `json:"id" example:"demo/01K7ZA-12" doc:"Of the dead letter: the namespace of the run, and the id of the event in the stream of the run."`
	Run   string `json:"run" example:"demo/01K7ZA"`
	Type  string `json:"type" doc:"Of the event."`
	At    string `json:"at" doc:"When it was given up."`
	Error string `json:"error" data:"hide" doc:"Why."`
	Retry bool   `json:"retry,omitempty" doc:"It is sent again."`
}

// DeadLetterChoice chooses dead letters.
type DeadLetterChoice struct {
	IDs    []string `json:"ids,omitempty" maxItems:"200" doc:"Those with these ids; all if absent."`
	Reason string   `json:"reason,omitempty" doc:"Why; logs keep it."`
}
