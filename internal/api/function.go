package api

import "github.com/swrun/swrun/runtime/function"

// Function is a deployed function of the default catalog: workflows call it as name:version@default, or name:version.
type Function struct {
	Name     string            `json:"name"`
	Versions []FunctionVersion `json:"versions" nullable:"false" doc:"The highest first."`
}

// FunctionVersion is a deployed version of a function. It never changes.
type FunctionVersion struct {
	Version    string `json:"version"`
	Digest     string `json:"digest,omitempty" doc:"Of its text, and of the files that it refers to."`
	Bytes      int    `json:"bytes" doc:"The total size of the resources, with their names."`
	DeployedAt string `json:"deployedAt,omitempty" format:"date-time"`
	DeployedBy string `json:"deployedBy,omitempty"`
	Damaged    string `json:"damaged,omitempty" doc:"Why it cannot be read; nothing else is known of it then. Delete it, and deploy it again."`
}

// NewFunctions returns the JSON of functions that are sorted by name.
func NewFunctions(deployed []function.Deployed) []Function {
	all := []Function{}
	for _, d := range deployed {
		if last := len(all) - 1; last < 0 || all[last].Name != d.Name {
			all = append(all, Function{Name: d.Name})
		}
		of := &all[len(all)-1]
		of.Versions = append(of.Versions, newFunctionVersion(d))
	}
	return all
}

func newFunctionVersion(d function.Deployed) FunctionVersion {
	v := FunctionVersion{Version: d.Version, Digest: d.Digest, Bytes: d.Size, DeployedAt: Time(d.At), DeployedBy: d.By}
	if d.Damaged != nil {
		v.Damaged = d.Damaged.Error()
	}
	return v
}

// SchemaFunction is the value of `schema` of a function.
const SchemaFunction = "swrun/v1/function"

// DeployedFunction is a version of a function with all of its parts.
type DeployedFunction struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	FunctionVersion
	FunctionDefinition
	// Diagnostics are the warnings and hints about a function whose deployment is answered.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty" nullable:"false"`
}

// FunctionDefinition is a function with the files that it refers to.
type FunctionDefinition struct {
	Function  string            `json:"function" doc:"The definition of a task, YAML or JSON."`
	Resources map[string][]byte `json:"resources,omitempty" doc:"The files that it refers to by relative references, by their names below its folder, in base64."`
}

// FunctionMediaType is the media type of a FunctionDefinition: other bodies are the text of a function.
const FunctionMediaType = "application/vnd.swrun.function+json"

// NewDeployedFunction returns the JSON of a function that is deployed, and of its files.
func NewDeployedFunction(d function.Deployed, files function.Files) DeployedFunction {
	return DeployedFunction{Schema: SchemaFunction, Name: d.Name, FunctionVersion: newFunctionVersion(d), FunctionDefinition: NewFunctionDefinition(files)}
}

// NewFunctionDefinition returns the JSON of the files of a function.
func NewFunctionDefinition(files function.Files) FunctionDefinition {
	d := FunctionDefinition{Function: string(files[function.File])}
	for name, data := range files {
		if name == function.File {
			continue
		}
		if d.Resources == nil {
			d.Resources = map[string][]byte{}
		}
		d.Resources[name] = data
	}
	return d
}

// Files returns the files of a function.
func (d *FunctionDefinition) Files() function.Files {
	files := function.Files{function.File: []byte(d.Function)}
	for name, data := range d.Resources {
		files[name] = data
	}
	return files
}

// String returns name:version.
func (d *DeployedFunction) String() string { return d.Name + ":" + d.Version }
