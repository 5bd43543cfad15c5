package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
)

func (p *program) importCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Store a run that was exported from another store",
		Example: `  swrun export order-7 --store redis://old:6379 > order-7.json
  swrun import order-7.json --store redis://new:6379`,
		Long: `The run keeps its id, its history and its definition; a definition that is missing is deployed. The import is refused if a run with the id
exists, or another document with the same name and version (exit 6). Deadlines and delays keep their times: a deadline that passed since the
export fires immediately. A run in progress continues in the new store, even if it continues in the old one, too: suspend it before its export,
and terminate it in the old store after the import. Its children are separate runs: export and import each of them. - reads standard input.`,
		Args: exactly("a file"), RunE: verb(func(args []string) error {
			r, err := p.readExport(args[0])
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.importRun(ctx, r) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.makes = true
	return cmd
}

// maxExport is the maximum size of an export, in bytes.
const maxExport = 256 << 20

// readExport reads the output of export, as JSON or YAML.
func (p *program) readExport(name string) (r api.ImportRequest, err error) {
	var text []byte
	if b := (bound{bytes: maxExport}); name == "-" {
		text, err = readStdin(p.streams, "import -", func(from io.Reader) ([]byte, error) { return b.read(from, "standard input") })
	} else {
		text, err = readFile("the export", name, b)
	}
	if err != nil {
		return r, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // it is YAML
		v, err := decodeData(name, text)
		if err == nil {
			text, err = expr.Encode(v)
		}
		if err != nil {
			return r, usagef("import reads the output of swrun export", "the export in %s cannot be read: %s", name, err)
		}
	}
	if _, err = expr.Decode(text); err == nil { // it refuses anything after the value
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&r)
	}
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return r, usagef("import reads the output of swrun export", "the export in %s cannot be read: %s", name, err)
	}
	return r, nil
}

func (o *operation) importRun(ctx context.Context, r api.ImportRequest) error {
	run, err := o.deployment.Import(ctx, r)
	if err != nil {
		return refusalError(err)
	}
	if o.flags.output != "human" {
		return o.print(run)
	}
	if err := write(o.out, fmt.Sprintf("%s imported, as it was: %s\n", run.ID, run.Status)); err != nil {
		return err
	}
	return o.reportUnworked(ctx, run.ClosedReason == "")
}
