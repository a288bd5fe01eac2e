package main

import "misstep/internal/sandbox"

// sandboxFlags decide as whom and how far confined programs of others run, such as the JVMs of trials.
type sandboxFlags struct {
	Sandbox     string   `help:"How far JVMs are confined: auto as far as this machine can, none, or strict, which refuses to do less than all." enum:"auto,none,strict" default:"auto" env:"MISSTEP_SANDBOX"`
	SandboxRead []string `help:"Further files and folders that JVMs may read." type:"path" env:"MISSTEP_SANDBOX_READ" placeholder:"PATH"`
	JvmUser     string   `name:"jvm-user" help:"User as whom root starts JVMs (default: one of its own for each)." env:"MISSTEP_JVM_USER" placeholder:"USER"`
	JvmAsRoot   bool     `name:"jvm-as-root" help:"Let JVMs run as root where this command does."`
}

// use makes the choice that of this process.
func (f sandboxFlags) use() {
	sandbox.Use(sandbox.Policy{Mode: f.Sandbox, User: f.JvmUser, AsRoot: f.JvmAsRoot, Read: f.SandboxRead})
}
