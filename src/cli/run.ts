import packageJson from '../../package.json';
import { type Command, commands } from './commands.ts';
import { describeOptions, type Option, readArguments } from './options.ts';
import { type ExitCode, type Output, terminal, UsageError } from './output.ts';

const HELP_OPTION: Option = { name: 'help', help: 'Show this.' };

/** Runs one command line and gives its exit code. */
export async function run(argv: readonly string[], output: Output = terminal): Promise<ExitCode> {
  const asksForHelp = argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
  if (argv[0] === '--version') {
    output.print(packageJson.version);
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
    return await command.run(given, output);
  } catch (error) {
    if (error instanceof UsageError) {
      output.complain(`fanfare: ${error.message}\nSee: fanfare ${command.name} --help`);
      return 2;
    }
    output.complain(`fanfare: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

function commandOf(argv: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => argv[index] === word));
}

/** Whether the words begin several commands, like `apps`. */
function isGroup([first, ...rest]: readonly string[]): boolean {
  return rest.length === 0 && commands.some(({ name }) => name.startsWith(`${first} `));
}

function helpOfAll(first: string | undefined): string {
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  const listed = group.length > 0 ? group : commands;
  const rows = listed.map(({ name, operands, help }) => [
    `  fanfare ${name}${operands === undefined ? '' : ` ${operands}`}`,
    help,
  ]);
  const width = Math.max(...rows.map(([left]) => left?.length ?? 0));
  return [
    'Fanfare: a self-hosted server for realtime messaging and push notifications.',
    '',
    ...rows.map(([left = '', help]) => `${left.padEnd(width)}  ${help}`),
    '',
    'Every command has --help. Exit codes: 0 done or stopped as asked, 1 a fault, 2 arguments or configuration.',
  ].join('\n');
}

function helpOf({ name, operands, help, options }: Command): string {
  return [
    `fanfare ${name}${operands === undefined ? '' : ` ${operands}`} [options]`,
    '',
    help,
    '',
    describeOptions([...options, HELP_OPTION]),
  ].join('\n');
}
