import { run } from './cli/run.ts';

/** What may still be under way, output for one, when a command is done. Milliseconds. */
const LINGER_MS = 250;

process.exitCode = await run(process.argv.slice(2));
// Whoever asked a server twice to stop does not want to wait for what hangs.
setTimeout(() => process.exit(), LINGER_MS).unref();
