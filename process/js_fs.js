// The part of node:fs that a script may use: reading its own standard input.
export function readFileSync(file) {
  if (file !== 0 && file !== '/dev/stdin') throw new Error('only the standard input can be read: readFileSync(0)');
  return globalThis['swrun read']();
}
export default { readFileSync };
