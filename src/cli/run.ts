import { type Command, runCommand } from './command.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfAll } from './help.ts';
import { type ExitCode, type Output, terminal } from './output.ts';
import { asksForHelp, runSmall } from './run-small.ts';

/** Runs one command line and returns its exit code. */
export async function run(argv: readonly string[], output: Output = terminal): Promise<ExitCode> {
  const exitCode = await runSmall(argv, output);
  if (exitCode !== undefined) return exitCode;
  const command = commandOf(argv);
  if (asksForHelp(argv)) {
    output.print(command === undefined ? helpOfAll(argv[0]) : helpOf(command));
    return 0;
  }
  if (command === undefined) {
    if (argv.length > 0 && !isGroup(argv)) {
      output.complain(`fanfare: there is no command "${argv.join(' ')}"\n`);
    }
    output.complain(helpOfAll(argv[0]));
    return 2;
  }
  return await runCommand(command, argv, output);
}

function commandOf(argv: readonly string[]): Command | undefined {
  return commands.find(({ name }) =>
    name.split(' ').every((word, index) => isWord(argv[index], word)),
  );
}

/** Many programs have `update` for our `change`. */
function isWord(given: string | undefined, word: string): boolean {
  return given === word || (given === 'update' && word === 'change');
}

/** Whether the arguments are the first word of several commands, such as `apps`. */
function isGroup([first, ...rest]: readonly string[]): boolean {
  return rest.length === 0 && commands.some(({ name }) => name.startsWith(`${first} `));
}
