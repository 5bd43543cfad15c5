// What a script sees of its host: its output, its arguments and environment, its standard input, and its end.
(() => {
  const host = globalThis.__host;
  delete globalThis.__host;
  const { argv, env, globals } = JSON.parse(host('start', ''));
  const { isInteger } = Number;
  // An argument may take the place of Object, and a script may change everything: what is used later is kept here.
  const { defineProperty, getOwnPropertyDescriptor, keys } = Object;
  const { stringify } = JSON;
  const Failure = Error, WrongType = TypeError, inText = Object.prototype.toString, text = String, number = Number;
  const call = (f, self, ...values) => apply(f, self, values);
  const { apply } = Reflect, { then } = Promise.prototype, evaluate = eval;
  const { trim, trimEnd, lastIndexOf, substring, replaceAll } = text.prototype;
  // The names are none that a script could use for variables of its own.
  const keep = (name, value) => defineProperty(globalThis, `swrun ${name}`, { value });

  // The JSON of an object, also of one that has a bigint or is part of itself.
  const json = (v) => {
    const around = []; // the objects that the value in hand is in
    let depth = 0;
    return stringify(v, function (_, one) {
      if (typeof one === 'bigint') return `${one}n`;
      if (typeof one !== 'object' || one === null) return one;
      while (depth > 0 && around[depth - 1] !== this) depth--;
      for (let n = 0; n < depth; n++) if (around[n] === one) return '[Circular]';
      around[depth++] = one;
      return one;
    });
  };
  // The stack of an error, without the frames of this file that have started the script, and with the name that modules have.
  const own = (stack) => {
    const end = call(lastIndexOf, stack, '    at eval (native)');
    return call(replaceAll, end < 0 ? stack : call(substring, stack, 0, end), '<input>', 'script.js');
  };
  const maxCauses = 5; // of an error, so that causes of each other come to an end
  const showError = (e, more = maxCauses) => {
    let said = e.stack ? call(trimEnd, `${e}\n${own(text(e.stack))}`) : text(e);
    const { cause, errors } = e;
    const add = (about, v) => { said += `\n${about}: ${v instanceof Failure ? showError(v, more - 1) : show(v)}`; };
    if (more > 0 && cause !== undefined && cause !== e) add('caused by', cause);
    for (let n = 0; more > 0 && errors && n < errors.length && n < maxCauses; n++) add('with', errors[n]);
    return said;
  };
  const show = (v) => {
    try {
      if (typeof v === 'string') return v;
      if (v instanceof Failure) return showError(v);
      if (typeof v === 'object' && v !== null) {
        try { return json(v) ?? text(v); } catch { return text(v); }
      }
      return typeof v === 'bigint' ? `${v}n` : text(v);
    } catch {
      return call(inText, v);
    }
  };
  const print = (stream) => (...values) => {
    let line = '';
    for (let i = 0; i < values.length; i++) line += (i > 0 ? ' ' : '') + show(values[i]);
    host(stream, line + '\n');
  };
  const out = print('stdout'), err = print('stderr');
  globalThis.console = { log: out, info: out, debug: out, error: err, warn: err, trace: err };

  let exitCode; // undefined until the script sets it
  const checked = (code) => {
    const n = typeof code === 'string' && call(trim, code) !== '' ? number(code) : code;
    if (n !== undefined && n !== null && !isInteger(n)) throw new WrongType(`an exit code must be an integer, got ${show(code)}`);
    return n ?? undefined;
  };
  const leave = (code) => host('exit', text((code ?? 0) & 0xff));
  const write = (stream) => (chunk) => {
    if (typeof chunk !== 'string') throw new WrongType(`only text can be written, got ${show(chunk)}`);
    host(stream, chunk);
    return true;
  };
  globalThis.process = {
    argv, env, platform: 'linux',
    get exitCode() { return exitCode; },
    set exitCode(code) { exitCode = checked(code); },
    exit: (code) => leave(checked(code) ?? exitCode),
    stdin: { fd: 0 }, stdout: { fd: 1, write: write('stdout') }, stderr: { fd: 2, write: write('stderr') },
  };
  keep('read', () => host('stdin', ''));

  // How the script ends: an error that nobody handles is on stderr, and the exit code is 1.
  const rejections = new Map(); // reasons of the promises that were rejected and are not handled
  const { delete: forget, set: remember, forEach } = Map.prototype;
  const fail = (e) => {
    err(e instanceof Failure ? e : `Uncaught ${show(e)}`);
    leave(1);
  };
  let waiting = false;
  keep('rejected', (promise, reason) => { call(remember, rejections, promise, reason); });
  keep('handled', (promise) => { call(forget, rejections, promise); });
  keep('run', () => {
    try { evaluate(host('code', '')); } catch (e) { fail(e); }
  });
  keep('module', (loaded) => {
    waiting = true;
    call(then, loaded, () => { waiting = false; }, fail);
  });
  keep('end', () => {
    call(forEach, rejections, fail); // the first ends it
    if (!waiting) leave(exitCode);
    err('the script ended while it awaited a promise that nothing settles');
    leave(exitCode ?? 13);
  });

  for (const name of keys(globals)) {
    const taken = getOwnPropertyDescriptor(globalThis, name)?.configurable === false;
    if (taken) throw new Error(`the argument ${name} cannot be a global variable: the engine has one of that name`);
    defineProperty(globalThis, name, { value: globals[name], writable: true, enumerable: true, configurable: true });
  }
})();
