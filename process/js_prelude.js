// What a script sees of its host: its output, its arguments and environment, its standard input, and its end.
(() => {
  const host = globalThis.__host;
  delete globalThis.__host;
  const { argv, env, globals } = JSON.parse(host('start', ''));
  const { isInteger } = Number;
  const { defineProperty, getOwnPropertyDescriptor, keys } = Object; // an argument may take the place of Object
  const keep = (name, value) => defineProperty(globalThis, name, { value });

  const show = (v) => {
    try {
      if (typeof v === 'string') return v;
      if (v instanceof Error) return v.stack ? `${v}\n${v.stack}`.trimEnd() : String(v);
      if (typeof v === 'object' && v !== null) {
        try { return JSON.stringify(v) ?? String(v); } catch { return String(v); }
      }
      return typeof v === 'bigint' ? `${v}n` : String(v);
    } catch {
      return Object.prototype.toString.call(v);
    }
  };
  const print = (stream) => (...values) => { host(stream, values.map(show).join(' ') + '\n'); };
  const out = print('stdout'), err = print('stderr');
  globalThis.console = { log: out, info: out, debug: out, error: err, warn: err, trace: err };

  let exitCode; // undefined until the script sets it
  const checked = (code) => {
    const n = typeof code === 'string' && code.trim() !== '' ? Number(code) : code;
    if (n !== undefined && n !== null && !isInteger(n)) throw new TypeError(`an exit code must be an integer, got ${show(code)}`);
    return n ?? undefined;
  };
  const leave = (code) => host('exit', String((code ?? 0) & 0xff));
  const write = (stream) => (text) => { host(stream, String(text)); return true; };
  globalThis.process = {
    argv, env, platform: 'linux',
    get exitCode() { return exitCode; },
    set exitCode(code) { exitCode = checked(code); },
    exit: (code) => leave(checked(code) ?? exitCode),
    stdin: { fd: 0 }, stdout: { fd: 1, write: write('stdout') }, stderr: { fd: 2, write: write('stderr') },
  };
  keep('__read', () => host('stdin', ''));

  // How the script ends: an error that nobody handles is on stderr, and the exit code is 1.
  const rejections = new Map(); // reasons of the promises that were rejected and are not handled
  const forget = Map.prototype.delete, remember = Map.prototype.set;
  const fail = (e) => {
    err(e instanceof Error ? e : `Uncaught ${show(e)}`);
    leave(1);
  };
  let waiting = false;
  keep('__rejected', (promise, reason) => { remember.call(rejections, promise, reason); });
  keep('__handled', (promise) => { forget.call(rejections, promise); });
  keep('__module', (loaded) => {
    waiting = true;
    loaded.then(() => { waiting = false; }, fail);
  });
  keep('__end', () => {
    for (const reason of rejections.values()) fail(reason);
    if (!waiting) leave(exitCode);
    err('the script ended while it awaited a promise that nothing settles');
    leave(13);
  });

  for (const name of keys(globals)) {
    const taken = getOwnPropertyDescriptor(globalThis, name)?.configurable === false;
    if (taken) throw new Error(`the argument ${name} cannot be a global variable: the engine has one of that name`);
    defineProperty(globalThis, name, { value: globals[name], writable: true, enumerable: true, configurable: true });
  }
})();
