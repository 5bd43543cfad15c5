// Package schedule starts runs of deployed workflows by themselves (`schedule` of a document; semantics section 15): at times, some time
// after the run before, and when events come.
//
// What is scheduled is kept in the registry of the store, an entry for each workflow. Whoever finds that a time has come decides in one
// change of the entry which runs are to be started, and what the next time is. The runs are started afterwards, with ids that follow from their
// times: whoever is interrupted leaves them in the entry for others, and nothing is started twice.
package schedule
