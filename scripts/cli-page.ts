import type { Command } from '../src/cli/command.ts';
import { commands } from '../src/cli/commands.ts';
import { optionUsage, usageOf } from '../src/cli/help.ts';
import { exitCodes } from '../src/cli/output.ts';

/** `docs/reference/cli.md`: every command of the command line, from the table that `--help` uses. */
export function printCommands(): string {
  return [
    '# Command line',
    '',
    'Every command of `fanfare`, with its options. This page is printed from the table of commands by `npm run docs`;',
    '`fanfare --help` and `fanfare COMMAND --help` print the same.',
    '',
    'Commands read the same configuration as the server: run them with the same `--config`, in the same directory.',
    'With `--json`, a command prints JSON with stable field names, for programs.',
    '',
    '| command | what it does | `--json` |',
    '| --- | --- | --- |',
    ...commands.map(
      (command) =>
        `| [\`${usageOf(command)}\`](#${anchorOf(command)}) | ${command.help} | ${hasJson(command) ? 'yes' : ''} |`,
    ),
    '',
    '| exit code | meaning |',
    '| --- | --- |',
    ...Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`),
    ...commands.flatMap(describe),
    '',
  ].join('\n');
}

function describe(command: Command): readonly string[] {
  const { name, help, example, options } = command;
  return [
    '',
    `## ${name}`,
    '',
    help,
    '',
    '```sh',
    example,
    '```',
    '',
    '| option | meaning |',
    '| --- | --- |',
    ...options.map((option) => `| \`${optionUsage(option)}\` | ${option.help} |`),
  ];
}

function hasJson({ options }: Command): boolean {
  return options.some(({ name }) => name === 'json');
}

/** The anchor that GitHub gives to the heading of a command. */
function anchorOf({ name }: Command): string {
  return name.replaceAll(' ', '-');
}
