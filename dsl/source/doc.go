// Package source reads the text of a document, YAML or JSON, into a tree of nodes, and knows the place of each node: through quotes, escapes, block
// scalars, anchors, aliases and merge keys. It also makes edits of the text. Package dsl reads workflows from the tree. This package does not depend
// on workflows, except for advice in a few messages.
package source
