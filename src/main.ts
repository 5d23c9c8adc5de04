import { run } from './cli/run.ts';

/** The longest wait, after a command has finished, for work such as output in progress. Milliseconds. */
const LINGER_MS = 250;

process.exitCode = await run(process.argv.slice(2));
// An operator who asks twice for a stop does not want to wait.
setTimeout(() => process.exit(), LINGER_MS).unref();
