import { open, readlinkSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { LogThread } from '../../src/observability/log-thread.ts';
import { openLog } from '../../src/observability/open-log.ts';

/**
 * Logs `LINES` lines of about 100 bytes to standard error at full speed, in many iterations of its event loop. Prints
 * on standard output which file standard error is, and how many lines were dropped. If `FIFO` is set, each thread of the
 * runtime's pool first opens that file and blocks.
 */
const lines = Number(process.env['LINES']);
const fifo = process.env['FIFO'];
const thread = new LogThread();
const { log, ...opened } = openLog({ level: 'info', format: 'json', port: thread.openPort() });

if (fifo !== undefined) {
  for (let at = 0; at < 4 * availableParallelism(); at++) open(fifo, 'r', () => undefined);
}
for (let at = 0; at < lines; at++) {
  log.info('A line', { number: at, filling: 'x'.repeat(30) });
  if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
await opened[Symbol.asyncDispose]();
thread[Symbol.dispose]();
const result = {
  to: readlinkSync('/proc/self/fd/2').replace(/[:\d[\]]+$/, ''),
  dropped: opened.droppedLines(),
};
writeSync(1, `${JSON.stringify(result)}\n`);
process.exit(0);
