package redisstore

import (
	"encoding/json"
	"fmt"

	"github.com/swrun/swrun/runtime/store"
)

// damagedLayoutError is a deployment whose layout cannot be read, so that nothing of it can be used.
type damagedLayoutError struct {
	key string
	err error
}

func (e *damagedLayoutError) Error() string {
	return fmt.Sprintf("the layout of the deployment, in the key %s, is damaged: %s", e.key, e.err)
}

func (e *damagedLayoutError) Unwrap() error { return e.err }

// remedy says what to do: nothing is wrong with the server or its address.
func (e *damagedLayoutError) remedy() string {
	return fmt.Sprintf("restore the key %s from a backup of the server: the record in it is damaged, and swrun does not change it", e.key)
}

// readLayout reads what the server has answered about the key of a layout.
func readLayout(key string, text []byte, err error) (kept store.Layout, _ error) {
	if isWrongType(err) {
		return kept, &damagedLayoutError{key, err}
	}
	if err != nil {
		return kept, err
	}
	if err = json.Unmarshal(text, &kept); err == nil {
		err = kept.Valid()
	}
	if err != nil {
		return kept, &damagedLayoutError{key, err}
	}
	return kept, nil
}
