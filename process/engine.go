package process

import (
	"reflect"
	"runtime"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// engine is what is below a VM: the engine can more than quickjs passes on.
type engine struct {
	tls     *libc.TLS
	runtime uintptr
	lost    uintptr // in the engine's memory: a text that is not empty once a rejection could not be told of
}

func engineOf(vm *quickjs.VM) engine {
	r := reflect.ValueOf(vm).Elem().FieldByName("runtime").Elem()
	e := engine{tls: (*libc.TLS)(r.FieldByName("tls").UnsafePointer()), runtime: uintptr(r.FieldByName("cRuntime").Uint())}
	e.lost = libc.Xcalloc(e.tls, 2, 1)
	return e
}

// wantedMemory reports whether the heap is or was used up. A script may not learn of it: what fails inside the engine's
// own jobs is lost.
func (e engine) wantedMemory() bool {
	if libc.Xstrlen(e.tls, e.lost) > 0 {
		return true
	}
	usage := &libquickjs.TJSMemoryUsage{}
	var pinner runtime.Pinner
	pinner.Pin(usage)
	defer pinner.Unpin()
	libquickjs.XJS_ComputeMemoryUsage(e.tls, e.runtime, uintptr(unsafe.Pointer(usage)))
	return usage.Fmalloc_limit > 0 && usage.Fmalloc_size > usage.Fmalloc_limit-usage.Fmalloc_limit/64
}

// close frees what engineOf has taken, before the VM is closed.
func (e engine) close() {
	libquickjs.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, 0, 0)
	libc.Xfree(e.tls, e.lost)
}

// trackRejections makes the engine tell the script's prelude which promises were rejected, and which of them are
// handled after all.
func (e engine) trackRejections() {
	libquickjs.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, pointer(rejection), e.lost)
}

// pointer returns f as the engine, which is translated from C, holds functions. Only functions of a package stay where
// they are.
func pointer(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// rejection is called by the engine, in the middle of its work: it leaves no exception behind.
func rejection(tls *libc.TLS, ctx uintptr, promise, reason libquickjs.TJSValue, handled int32, lost uintptr) {
	function := "__rejected"
	if handled != 0 {
		function = "__handled"
	}
	name, err := libc.CString(function)
	if err != nil {
		libc.Xmemset(tls, lost, 1, 1)
		return
	}
	defer libc.Xfree(tls, name)
	global := libquickjs.XJS_GetGlobalObject(tls, ctx)
	defer libquickjs.XFreeValue(tls, ctx, global)
	f := libquickjs.XJS_GetPropertyStr(tls, ctx, global, name)
	defer libquickjs.XFreeValue(tls, ctx, f)
	arguments := &[2]libquickjs.TJSValue{promise, reason}
	var pinner runtime.Pinner
	pinner.Pin(arguments)
	defer pinner.Unpin()
	result := libquickjs.XJS_Call(tls, ctx, f, global, int32(len(arguments)), uintptr(unsafe.Pointer(arguments)))
	if libquickjs.XJS_HasException(tls, ctx) != 0 { // there is no memory to tell it
		libc.Xmemset(tls, lost, 1, 1)
		libquickjs.XFreeValue(tls, ctx, libquickjs.XJS_GetException(tls, ctx))
	}
	libquickjs.XFreeValue(tls, ctx, result)
}
