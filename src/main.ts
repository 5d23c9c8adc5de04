import { runSmall } from './cli/run-small.ts';

/** What may still be under way, output for one, when a command is done. Milliseconds. */
const LINGER_MS = 250;

const argv = process.argv.slice(2);
process.exitCode = (await runSmall(argv)) ?? (await (await import('./cli/run.ts')).run(argv));
// Whoever asked a server twice to stop does not want to wait for what hangs.
setTimeout(() => process.exit(), LINGER_MS).unref();
