package edges

import "slices"

// stackFilters are the annotations StackFilter of the JDK's events: classes, or methods of one, whose frames JFR leaves out of the
// event's stack trace wherever they are (JDK 24 and later; those of 25's jdk.jfr.events; HotSpot jfrStackFilter.cpp).
var stackFilters = map[string][]stackFilter{
	"jdk.FileRead": {
		{class: "java.nio.channels.FileChannel"},
		{class: "java.io.DataInputStream"},
		{class: "java.io.FileInputStream"},
		{class: "java.io.InputStream"},
		{class: "java.io.RandomAccessFile"},
		{class: "sun.nio.ch.ChannelInputStream"},
		{class: "sun.nio.ch.FileChannelImpl"},
	},
	"jdk.FileWrite": {
		{class: "java.nio.channels.FileChannel"},
		{class: "java.io.DataOutputStream"},
		{class: "java.io.FileOutputStream"},
		{class: "java.io.OutputStream"},
		{class: "java.io.RandomAccessFile"},
		{class: "sun.nio.ch.ChannelOutputStream"},
		{class: "sun.nio.ch.FileChannelImpl"},
	},
	"jdk.ProcessStart":                 {{class: "java.lang.ProcessBuilder"}, {"java.lang.Runtime", "exec"}},
	"jdk.SecurityPropertyModification": {{"java.security.Security", "setProperty"}},
	"jdk.SecurityProviderService":      {{"java.security.Provider", "getService"}},
	"jdk.SocketRead": {
		{class: "java.io.InputStream"},
		{class: "java.net.Socket$SocketInputStream"},
		{class: "java.nio.channels.SocketChannel"},
		{class: "sun.nio.ch.SocketInputStream"},
	},
	"jdk.SocketWrite": {
		{class: "java.io.OutputStream"},
		{class: "java.net.Socket$SocketOutputStream"},
		{class: "java.nio.channels.SocketChannel"},
		{class: "sun.nio.ch.SocketOutputStream"},
	},
	"jdk.TLSHandshake": {{"sun.security.ssl.Finished", "recordEvent"}},
	"jdk.ThreadSleep": {
		{"java.lang.Thread", "afterSleep"}, {"java.lang.Thread", "sleepNanos"}, {"java.lang.Thread", "sleep"},
	},
}

// stackFilter is a class whose frames are left out, or those of one method of it.
type stackFilter struct{ class, method string }

// filterable is the feature version from which on JFR filters stack traces.
const filterable = 24

// filtered reports whether a frame of an event's stack trace calls what the event's filter leaves out, so that the frame above it
// need not be what it calls. The filter is by the class that declares the method, which the one that the call names may extend.
func (j *Judge) filtered(event string, caller frame) bool {
	filters := stackFilters[event]
	if len(filters) == 0 || j.in.Feature != 0 && j.in.Feature < filterable {
		return false
	}
	return slices.ContainsFunc(caller.versions, func(v *version) bool {
		t := v.at(caller.bci).target
		return t != nil && t.owner != nil && slices.ContainsFunc(filters, func(f stackFilter) bool {
			base := j.in.Program.lookup(f.class)
			return base != nil && (f.method == "" || f.method == t.name) &&
				(j.in.Program.extends(t.owner, base) || j.in.Program.extends(base, t.owner))
		})
	})
}
