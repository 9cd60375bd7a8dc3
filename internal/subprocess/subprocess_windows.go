package subprocess

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Hide does nothing on this system: other processes of the user can read this process's memory.
func Hide() {}

// NoCore does nothing, because this system writes no core files for programs.
func NoCore(*os.Process) {}

// Attributes returns the attributes for starting a program in a separate process group. An interrupt at the console
// does not reach it, because this process decides when it ends.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// OnTerminal returns nil: no attributes are needed on this system.
func OnTerminal(syscall.Signal) *syscall.SysProcAttr { return nil }

// HasTerminal returns false. Its result decides whether a program is started in a way that lets it ask questions at the
// terminal. On Windows this is always possible, because every program can reach the console.
func HasTerminal() bool { return false }

// jobs contains the job object (windows.Handle) of each started program (*os.Process).
var jobs sync.Map

// Start starts cmd in a job object. The job contains the program and its child processes, so that Kill ends all of
// them. If this process ends while the program runs, the system ends them, too. Child processes that remain after the
// program has ended, such as a server in the background, continue after this process.
func Start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil // no job exists, so Kill will end the program without its child processes
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.SYNCHRONIZE, false, uint32(cmd.Process.Pid))
	if err == nil {
		if err = windows.AssignProcessToJobObject(job, process); err != nil {
			_ = windows.CloseHandle(process)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil
	}
	limit(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
	jobs.Store(cmd.Process, job)
	go func() {
		_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
		limit(job, 0)
		_ = windows.CloseHandle(process)
	}()
	return nil
}

func limit(job windows.Handle, flags uint32) {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags}}
	_, _ = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
}

func jobOf(p *os.Process) (windows.Handle, bool) {
	job, ok := jobs.Load(p)
	if !ok {
		return 0, false
	}
	return job.(windows.Handle), true
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times                             [4]int64
	faults, total, active, terminated uint32
}

const accountingClass = 1 // JobObjectBasicAccountingInformation

// Alive reports whether a program or one of its child processes runs.
func Alive(p *os.Process) bool {
	job, ok := jobOf(p)
	if !ok {
		return false
	}
	var info accounting
	err := windows.QueryInformationJobObject(job, accountingClass, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active > 0
}

// Family is a program with its child processes.
type Family struct{ Root *os.Process }

// Terminate sends the signal of Ctrl-Break to the program and its child processes.
func (f *Family) Terminate() { Terminate(f.Root) }

// Kill kills the program and its child processes.
func (f *Family) Kill() { Kill(f.Root) }

// Terminate sends the signal of Ctrl-Break to a program and its process group. It kills them if the signal cannot be
// sent, for example because there is no console.
func Terminate(p *os.Process) {
	if interrupt(p) != nil {
		Kill(p)
	}
}

// Ask sends the signal of Ctrl-Break to a program. It kills the program if the signal cannot be sent.
func Ask(p *os.Process) error {
	if interrupt(p) == nil {
		return nil
	}
	return p.Kill()
}

// interrupt sends the signal of Ctrl-Break to a program that was started with Attributes, and to its process group.
func interrupt(p *os.Process) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

// Kill kills a program and its child processes.
func Kill(p *os.Process) {
	if job, ok := jobOf(p); ok {
		_ = windows.TerminateJobObject(job, 1)
	}
	_ = p.Kill() // the program may be in no job
}
