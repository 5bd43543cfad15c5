package api

// Rule explains the code of a finding, or a type of errors.
type Rule struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
