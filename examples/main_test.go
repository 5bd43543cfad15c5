package examples_test

import (
	"testing"

	"github.com/swrun/swrun/process/processtest"
)

func TestMain(m *testing.M) { processtest.Main(m) }
