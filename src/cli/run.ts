import { ownCommand } from '../config/environment/own-command.ts';
import { messageOf } from '../runtime/error-code.ts';
import { type Command, commands } from './commands.ts';
import { HELP_OPTION, helpOf, helpOfAll } from './help.ts';
import { readArguments } from './options.ts';
import { type ExitCode, type Output, terminal, UsageError } from './output.ts';
import { versionText } from './version.ts';

/** Runs one command line and returns its exit code. */
export async function run(argv: readonly string[], output: Output = terminal): Promise<ExitCode> {
  const asksForHelp = argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
  if (argv[0] === '--version') {
    output.print(versionText());
    return 0;
  }
  const command = commandOf(argv);
  if (asksForHelp) {
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
  try {
    const words = command.name.split(' ').length;
    const given = readArguments(argv.slice(words), [...command.options, HELP_OPTION]);
    return await command.run({ given, output });
  } catch (error) {
    if (error instanceof UsageError) {
      output.complain(`fanfare: ${error.message}\nSee: ${ownCommand()} ${command.name} --help`);
      return 2;
    }
    output.complain(`fanfare: ${messageOf(error)}`);
    return 1;
  }
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
