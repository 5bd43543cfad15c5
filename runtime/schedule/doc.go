// Package schedule starts runs of deployed workflows automatically (`schedule` of a document; semantics section 15): at times, at an
// interval after the run before, and at events.
//
// The registry of the store keeps an entry for each scheduled workflow. The worker that finds that a time is reached decides in one
// change of the entry which runs to start, and the next time. The runs are started afterwards, with ids that follow from their
// times. A worker that is interrupted leaves them in the entry for others, and no run is started twice.
package schedule
