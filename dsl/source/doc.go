// Package source reads the text of a document, YAML or JSON, into a tree of nodes, and knows where each node stands: through
// quotes, escapes, block scalars, anchors, aliases and merge keys. It also makes edits of the text. Package dsl reads workflows
// from the tree. This package knows nothing of workflows, except for advice in a few messages.
package source
