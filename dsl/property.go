package dsl

// property is the name of a property that may contain expressions, for rules and messages. All arguments of a call have one name, unless a rule
// treats them differently.
type property string

const (
	propertyIf              property = "if"
	propertyInputFrom       property = "input.from"
	propertyOutputAs        property = "output.as"
	propertyExportAs        property = "export.as"
	propertySet             property = "set"
	propertyForIn           property = "for.in"
	propertyWhile           property = "while"
	propertyWhen            property = "when"
	propertyCall            property = "call"
	propertyEndpoint        property = "endpoint"
	propertyAuthentication  property = "authentication"
	propertyRun             property = "run"
	propertyRunArguments    property = "run.arguments"
	propertyRunInput        property = "run.input"
	propertyCode            property = "code"
	propertyEmit            property = "emit"
	propertyRaise           property = "raise"
	propertyDuration        property = "duration"
	propertyCatchWhen       property = "catch.when"
	propertyCatchExceptWhen property = "catch.exceptWhen"
	propertyRetryWhen       property = "retry.when"
	propertyRetryExceptWhen property = "retry.exceptWhen"
	propertyEventFilter     property = "event filter"
	propertyCorrelateFrom   property = "correlate.from"
	propertyCorrelateExpect property = "correlate.expect"
	propertyFilter          property = "filter"
	propertyUntil           property = "until"
)

// bodyProperties are evaluated before their task has an output.
func bodyProperties() []property {
	return append(sentProperties(), propertySet, propertyForIn, propertyWhile, propertyWhen, propertyRaise, propertyDuration)
}

// inputProperties are evaluated with their task's transformed input.
func inputProperties() []property {
	return append(sentProperties(), propertySet, propertyForIn, propertyWhen, propertyRaise, propertyCode, propertyAuthentication)
}

// sentProperties are the properties that a task sends to other systems.
func sentProperties() []property {
	return []property{propertyCall, propertyEndpoint, propertyRun, propertyRunArguments, propertyRunInput, propertyEmit}
}

// keptProperties become data of the run.
func keptProperties() []property {
	return []property{propertySet, propertyInputFrom, propertyOutputAs, propertyExportAs, propertyRaise, propertyForIn}
}

// conditionProperties decide whether something happens.
func conditionProperties() []property {
	return []property{
		propertyIf, propertyWhen, propertyWhile, propertyUntil, propertyFilter,
		propertyCatchWhen, propertyCatchExceptWhen, propertyRetryWhen, propertyRetryExceptWhen,
	}
}
