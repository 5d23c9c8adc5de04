import { outliveReaders } from './cli/closed-pipe.ts';
import { runSmall } from './cli/run-small.ts';

/** The longest wait, after a command has finished, for work such as output in progress. Milliseconds. */
const LINGER_MS = 250;

const argv = process.argv.slice(2);
outliveReaders({ isServer: argv[0] === 'serve' });
process.exitCode = (await runSmall(argv)) ?? (await (await import('./cli/run.ts')).run(argv));
// An operator who asks twice for a stop does not want to wait.
setTimeout(() => process.exit(), LINGER_MS).unref();
