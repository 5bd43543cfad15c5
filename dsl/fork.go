package dsl

// ForkTask runs branches at the same time.
type ForkTask struct {
	TaskBase
	Branches TaskList
	Compete  bool
}

// Kind returns KindFork.
func (*ForkTask) Kind() Kind { return KindFork }

func parseFork(p *parser, o *object, base TaskBase) Task {
	f := p.object(o.value("fork"), o.at.Key("fork"), "`fork`", "branches", "compete")
	f.require("branches")
	return &ForkTask{TaskBase: base, Branches: f.tasks("branches"), Compete: f.boolean("compete")}
}
