package process

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// limitedBuffer keeps the first max bytes of what is written to it.
type limitedBuffer struct {
	kept     bytes.Buffer
	max      int
	exceeded bool // more than max bytes were written
}

// Write implements io.Writer and never fails. There must be no ReadFrom: io.Copy would use it and exceed max.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	taken := min(len(p), b.max-b.kept.Len())
	b.exceeded = b.exceeded || taken < len(p)
	b.kept.Write(p[:taken])
	return len(p), nil
}

func (b *limitedBuffer) String() string { return b.kept.String() }

// pipe is a pipe between a command and its supervisor, with the goroutine that serves the supervisor's end.
type pipe struct {
	theirs, ours *os.File
	done         chan struct{} // closed when the supervisor has read or written everything; nil before it begins
}

// serve closes the command's end, which the command has inherited, and runs do for ours.
func (p *pipe) serve(do func()) {
	p.theirs.Close()
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		do()
	}()
}

// close closes both ends and waits for the goroutine that serves ours.
func (p *pipe) close() {
	if p == nil {
		return
	}
	p.theirs.Close() // usually it is closed already
	p.ours.Close()
	if p.done != nil {
		<-p.done
	}
}

// outputPipe is standard output or standard error of a command. Its content may be read after close.
type outputPipe struct {
	pipe
	limitedBuffer
	name string
	full chan struct{} // closed when more was written than is kept
}

func newOutputPipe(name string, limit int) (*outputPipe, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &outputPipe{pipe: pipe{theirs: theirs, ours: ours}, limitedBuffer: limitedBuffer{max: limit}, name: name, full: make(chan struct{})}, nil
}

// begin reads until the end. It goes on reading when the buffer is full, so that the command is not blocked.
func (c *outputPipe) begin() {
	c.serve(func() {
		var once sync.Once
		buffer := make([]byte, 32<<10)
		for {
			n, err := c.ours.Read(buffer)
			_, _ = c.Write(buffer[:n])
			if c.exceeded {
				once.Do(func() { close(c.full) })
			}
			if err != nil {
				return
			}
		}
	})
}

// isFull reports whether more was written than is kept. It may be called while the command runs.
func (c *outputPipe) isFull() bool {
	select {
	case <-c.full:
		return true
	default:
		return false
	}
}

func (c *outputPipe) close() {
	if c != nil {
		c.pipe.close()
	}
}

// inputPipe is the standard input of a command.
type inputPipe struct {
	pipe
	text []byte
}

func newInputPipe(text []byte) (*inputPipe, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &inputPipe{pipe{theirs: theirs, ours: ours}, text}, nil
}

func (f *inputPipe) begin() {
	f.serve(func() {
		defer f.ours.Close()
		_, _ = io.Copy(f.ours, bytes.NewReader(f.text)) // a command need not read its input
	})
}

func (f *inputPipe) close() {
	if f != nil {
		f.pipe.close()
	}
}
