package interpreter

import "github.com/swrun/swrun/dsl"

// Check stub until rules land.
func Check(w *dsl.Workflow) dsl.Diagnostics { return nil }
