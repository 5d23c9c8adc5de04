/** The server as `src/main.ts` runs it; SIGUSR2 keeps its realtime loop busy for ever. */

const never = new Int32Array(new SharedArrayBuffer(4));

process.on('SIGUSR2', () => {
  process.stderr.write('busy from now on\n');
  Atomics.wait(never, 0, 0);
});

await import(process.env['TEST_PROGRAM'] ?? '../../src/main.ts');

export {};
