package api

// Definition is a document with the external resources that it needs, in the state in which they were read.
type Definition struct {
	File      string            `json:"file,omitempty" doc:"The name of the file of the document, for people."`
	Document  string            `json:"document" minLength:"1" doc:"YAML or JSON."`
	Resources map[string][]byte `json:"resources,omitempty" doc:"The content of the references in the document, in base64. No other resource is read for it."`
	Locations map[string]string `json:"locations,omitempty" doc:"Where relative references in resources start, of which a server has redirected the reader to another URL."`
}

// DefinitionMediaType is the media type of a definition: other bodies are the text of a document.
const DefinitionMediaType = "application/vnd.swrun.definition+json"
