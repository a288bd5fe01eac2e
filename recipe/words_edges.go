package recipe

// edgesRules are those of event-edges that are none of the agent's check edges.
var edgesRules = []Word{{
	"stack-filter", "JFR leaves out the frames of some methods in stack traces of this type of event",
	"jdk.jfr.events: StackFilter; HotSpot jfrStackFilter.cpp, from JDK 24 on",
}}
