// Package classes reads class files, as far as the judgement of stack traces needs them: which method each instruction can call,
// and on which source line it stands. It finds the files in folders, jar files, JMODs and the image of a JDK (lib/modules), one
// class at a time.
//
// What it says of a class is what the agent writes of it to sites.bin: agent/native/src/bytecode.cpp, sites.cpp and upcalls.cpp
// have the same rules for classes in a JVM.
package classes
