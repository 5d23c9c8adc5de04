import { run } from '../../src/cli/run.ts';

/**
 * The server as `src/main.ts` runs it, in a process that a limit of its file size does not kill: a write
 * beyond the limit fails, as one on a full disk does.
 */
process.on('SIGXFSZ', () => undefined);
process.exitCode = await run(process.argv.slice(2));
