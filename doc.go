// Package swrun runs workflows of the CNCF Serverless Workflow DSL in Go programs.
package swrun
