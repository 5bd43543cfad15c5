package process

import "golang.org/x/sys/unix"

// Hide keeps the memory and the environment of this process from other processes of the same user, as far as the system can do that. On Linux the kernel
// then refuses them /proc/PID/environ and /proc/PID/mem, and does not let them trace this process; it also writes no core dump of it. Processes with
// CAP_SYS_PTRACE, such as those of root, may do all of that. What this process executes is not hidden.
func Hide() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // it fails only for other arguments
}
