// What a script sees of its host: its output, its arguments and environment, its standard input, and its end.
(() => {
  const host = globalThis.__host;
  delete globalThis.__host;
  const { argv, env, globals } = JSON.parse(host('start', ''));

  const show = (v) => {
    if (typeof v === 'string') return v;
    if (v instanceof Error) return v.stack ? `${v}\n${v.stack}`.trimEnd() : String(v);
    if (typeof v === 'object' && v !== null) {
      try { return JSON.stringify(v) ?? String(v); } catch { return String(v); }
    }
    return typeof v === 'bigint' ? `${v}n` : String(v);
  };
  const print = (stream) => (...values) => { host(stream, values.map(show).join(' ') + '\n'); };
  const out = print('stdout'), err = print('stderr');
  globalThis.console = { log: out, info: out, debug: out, error: err, warn: err, trace: err };

  const write = (stream) => (text) => { host(stream, String(text)); return true; };
  globalThis.process = {
    argv, env, exitCode: 0, platform: 'linux',
    exit: (code = globalThis.process.exitCode) => host('exit', String(Number(code) || 0)),
    stdin: { fd: 0 }, stdout: { fd: 1, write: write('stdout') }, stderr: { fd: 2, write: write('stderr') },
  };
  globalThis.__read = () => host('stdin', '');
  globalThis.__failed = (e) => { host('stderr', show(e) + '\n'); host('exit', '1'); };
  Object.assign(globalThis, globals);
})();
