package process

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// bounded keeps the first max bytes of what is written to it.
type bounded struct {
	kept bytes.Buffer
	max  int
	over bool // there was more
}

// Write implements io.Writer, and never fails. There is no ReadFrom on purpose: io.Copy would go around the bound.
func (b *bounded) Write(p []byte) (int, error) {
	taken := min(len(p), b.max-b.kept.Len())
	b.over = b.over || taken < len(p)
	b.kept.Write(p[:taken])
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }

// pipe is a pipe between a command and its supervisor, and what the supervisor does at its end of it.
type pipe struct {
	theirs, ours *os.File
	done         chan struct{} // closed when the supervisor has read or written it all; nil before it begins
}

// serve gives the command its end, and does what is to be done at ours.
func (p *pipe) serve(do func()) {
	p.theirs.Close()
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		do()
	}()
}

// close ends what is done at our end, and waits for that.
func (p *pipe) close() {
	if p == nil {
		return
	}
	p.theirs.Close() // often it is already
	p.ours.Close()
	if p.done != nil {
		<-p.done
	}
}

// capture is an output of a command; what it holds may be read after close.
type capture struct {
	pipe
	bounded
	name     string
	exceeded chan struct{} // closed when there is more than is kept
}

func newCapture(name string, limit int) (*capture, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &capture{pipe: pipe{theirs: theirs, ours: ours}, bounded: bounded{max: limit}, name: name, exceeded: make(chan struct{})}, nil
}

// begin reads until the end, and goes on to read beyond the bound so that the command does not stand still.
func (c *capture) begin() {
	c.serve(func() {
		var once sync.Once
		buffer := make([]byte, 32<<10)
		for {
			n, err := c.ours.Read(buffer)
			_, _ = c.Write(buffer[:n])
			if c.over {
				once.Do(func() { close(c.exceeded) })
			}
			if err != nil {
				return
			}
		}
	})
}

// isOver reports whether there is more than is kept, while the command goes on.
func (c *capture) isOver() bool {
	select {
	case <-c.exceeded:
		return true
	default:
		return false
	}
}

func (c *capture) close() {
	if c != nil {
		c.pipe.close()
	}
}

// feed is the standard input of a command.
type feed struct {
	pipe
	text []byte
}

func newFeed(text []byte) (*feed, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &feed{pipe{theirs: theirs, ours: ours}, text}, nil
}

func (f *feed) begin() {
	f.serve(func() {
		defer f.ours.Close()
		_, _ = io.Copy(f.ours, bytes.NewReader(f.text)) // who does not read its input may do so
	})
}

func (f *feed) close() {
	if f != nil {
		f.pipe.close()
	}
}
