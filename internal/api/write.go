package api

import (
	"io"

	"github.com/swrun/swrun/expr"
)

// Write writes v as JSON on one line, with sorted keys.
func Write(w io.Writer, v any) error {
	plain, err := expr.Normalize(v)
	if err != nil {
		return err
	}
	line, err := expr.Encode(plain)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
