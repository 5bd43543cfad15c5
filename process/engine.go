package process

import (
	"reflect"
	"runtime"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// engine is the QuickJS engine below a VM, for what package quickjs does not offer.
type engine struct {
	tls     *libc.TLS
	runtime uintptr
	memory  *memory
}

// memory is how the engine gets its memory. It lies in the engine's own memory, to which the engine has a pointer.
type memory struct {
	allocate, reallocate uintptr // the engine's functions
	refused              bool    // whether an allocation has failed
}

func engineOf(vm *quickjs.VM) engine {
	r := reflect.ValueOf(vm).Elem().FieldByName("runtime").Elem()
	e := engine{tls: (*libc.TLS)(r.FieldByName("tls").UnsafePointer()), runtime: uintptr(r.FieldByName("cRuntime").Uint())}
	context := e.context()
	context.Fmalloc_state.Fopaque = libc.Xcalloc(e.tls, 1, libquickjs.Tsize_t(unsafe.Sizeof(memory{})))
	e.memory = memoryOf(&context.Fmalloc_state)
	e.memory.allocate, e.memory.reallocate = context.Fmf.Fjs_malloc, context.Fmf.Fjs_realloc
	context.Fmf.Fjs_malloc, context.Fmf.Fjs_realloc = pointer(allocate), pointer(reallocate)
	return e
}

func (e engine) context() *libquickjs.TJSMallocContext {
	return &at[libquickjs.TJSRuntime](e.runtime).Fmalloc_ctx
}

// at returns what is at an address of the engine's memory, which Go's collector does not know.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

func memoryOf(state *libquickjs.TJSMallocState) *memory { return at[memory](state.Fopaque) }

// ranOutOfMemory reports whether the script needed more memory than it may use. The script itself may not notice: errors
// inside the engine's own jobs are lost.
func (e engine) ranOutOfMemory() bool { return e.memory.refused }

// close frees what engineOf has taken, before the VM is closed.
func (e engine) close() {
	libquickjs.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, 0, 0)
	context := e.context()
	context.Fmf.Fjs_malloc, context.Fmf.Fjs_realloc = e.memory.allocate, e.memory.reallocate
	libc.Xfree(e.tls, context.Fmalloc_state.Fopaque)
	context.Fmalloc_state.Fopaque = 0
}

// allocate is called by the engine to allocate memory, and records a failure.
func allocate(tls *libc.TLS, state uintptr, size libquickjs.Tsize_t) uintptr {
	m := memoryOf(at[libquickjs.TJSMallocState](state))
	block := function[func(*libc.TLS, uintptr, libquickjs.Tsize_t) uintptr](m.allocate)(tls, state, size)
	m.refused = m.refused || block == 0
	return block
}

// reallocate is called by the engine to change the size of a block; a size of 0 frees it.
func reallocate(tls *libc.TLS, state, old uintptr, size libquickjs.Tsize_t) uintptr {
	m := memoryOf(at[libquickjs.TJSMallocState](state))
	block := function[func(*libc.TLS, uintptr, uintptr, libquickjs.Tsize_t) uintptr](m.reallocate)(tls, state, old, size)
	m.refused = m.refused || block == 0 && size > 0
	return block
}

// trackRejections makes the engine report to the script's prelude which promises were rejected, and which of them are
// handled later.
func (e engine) trackRejections() {
	libquickjs.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, pointer(rejection), 0)
}

// pointer returns f in the form in which the engine, which is translated from C, stores functions. f must be a function of a
// package: closures may move.
func pointer(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// function is the reverse of pointer.
func function[F any](pointer uintptr) F {
	return *(*F)(unsafe.Pointer(&struct{ uintptr }{pointer}))
}

// rejection is called by the engine in the middle of its work, so that it must leave no exception behind.
func rejection(tls *libc.TLS, ctx uintptr, promise, reason libquickjs.TJSValue, handled int32, _ uintptr) {
	callback := "swrun rejected" // of js_prelude.js
	if handled != 0 {
		callback = "swrun handled"
	}
	name, err := libc.CString(callback)
	if err != nil {
		panic("out of memory") // as Go itself ends then
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
	if libquickjs.XJS_HasException(tls, ctx) != 0 { // memory is used up, which allocate has recorded
		libquickjs.XFreeValue(tls, ctx, libquickjs.XJS_GetException(tls, ctx))
	}
	libquickjs.XFreeValue(tls, ctx, result)
}
