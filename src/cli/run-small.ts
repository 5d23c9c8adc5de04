import { runCommand } from './command.ts';
import { HEALTH } from './health/health.ts';
import { type ExitCode, type Output, terminal } from './output.ts';
import { versionText } from './version.ts';

/**
 * Runs a command line without loading the other commands: health checks run every few seconds, and need nothing of the server
 * and little of the configuration; a server starts in less time. Returns its exit code; `undefined` if it is another one.
 */
export async function runSmall(
  argv: readonly string[],
  output: Output = terminal,
): Promise<ExitCode | undefined> {
  if (argv[0] === '--version') {
    output.print(versionText());
    return 0;
  }
  if (asksForHelp(argv)) return undefined;
  switch (argv[0]) {
    case 'health':
      return await runCommand(HEALTH, argv, output);
    case 'serve': {
      const { SERVE } = await import('./serving/serve.ts');
      return await runCommand(SERVE, argv, output);
    }
    default:
      return undefined;
  }
}

/** Whether help is asked for. What follows `--` is no option. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const options = end < 0 ? argv : argv.slice(0, end);
  return options.includes('--help') || options.includes('-h') || argv[0] === 'help';
}
