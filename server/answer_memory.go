package server

import (
	"time"
)

// This file reserves memory for an answer before stored data is decoded into its values.

// Holds implements client.Memory.
func (x *exchange) Holds(bytes int64) bool {
	x.answering.Lock()
	defer x.answering.Unlock()
	if x.answer == nil {
		x.answer = x.try(bytes)
		return x.answer != nil
	}
	return x.answer.grow(bytes)
}

// Await implements client.Memory. An answer that holds memory does not wait for more, so that no two answers wait for each other.
func (x *exchange) Await(bytes int64) error {
	x.answering.Lock()
	defer x.answering.Unlock()
	if x.answer != nil {
		return noMemory(x.answer.part)
	}
	h, err := x.room(bytes)
	x.answer = h
	return err
}

// endAnswer returns the memory of the answer.
func (x *exchange) endAnswer() {
	x.answering.Lock()
	defer x.answering.Unlock()
	x.answer.end()
}

// noMemory is the error of a request for which there is not enough memory.
func noMemory(p *part) error {
	return tooMany("memory of requests", int(p.size), time.Second, "the requests in progress take all the memory that they may take: ask again later, or for less at a time")
}
