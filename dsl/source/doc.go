// Package source reads the text of a document, YAML or JSON, into a tree of nodes, and knows where each node stands: through
// quotes, escapes, block scalars, anchors, aliases and merge keys. Package dsl reads workflows from the tree, and points at
// the text by it. It knows nothing of workflows, and decides nothing about them.
package source
