package dsl

func checkRules() []Rule { return nil }
