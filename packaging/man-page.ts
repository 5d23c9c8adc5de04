import packageJson from '../package.json';
import type { Command } from '../src/cli/command.ts';
import { commands } from '../src/cli/commands.ts';
import { optionUsage, usageOf } from '../src/cli/help.ts';
import { HELP_OPTION } from '../src/cli/options.ts';
import { exitCodes } from '../src/cli/output.ts';
import { ROOT } from './bundle.ts';
import { versionOf } from './commit.ts';

/** The manual page `fanfare(1)`, from the table of commands that `--help` uses. Source of the macros: groff_man(7). */
export function manualPage(): string {
  return [
    `.TH FANFARE 1 "" "fanfare ${versionOf(ROOT)}" "User Commands"`,
    '.SH NAME',
    'fanfare \\- realtime messaging and push notifications, self\\-hosted',
    '.SH SYNOPSIS',
    '.B fanfare',
    '.I command',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    textOf(packageJson.description),
    '.SH COMMANDS',
    ...commands.flatMap(describe),
    '.SH EXIT STATUS',
    ...Object.entries(exitCodes).flatMap(([code, meaning]) => ['.TP', code, textOf(meaning)]),
    '.SH FILES',
    '.TP',
    '.I /etc/fanfare/fanfare.yaml',
    'The configuration, if the working directory has none.',
    '.TP',
    '.I /etc/default/fanfare',
    'Environment variables of the service.',
    '.TP',
    '.I /var/lib/fanfare',
    'The store, and the password of the admin API.',
    '.SH SEE ALSO',
    textOf(packageJson.homepage),
    '',
  ].join('\n');
}

function describe(command: Command): readonly string[] {
  const { help, example, options } = command;
  return [
    `.SS "fanfare ${textOf(usageOf(command))}"`,
    textOf(help),
    ...[...options, HELP_OPTION].flatMap((option) => [
      '.TP',
      `.B ${textOf(optionUsage(option))}`,
      textOf(option.help),
    ]),
    '.PP',
    `Example: ${textOf(example)}`,
  ];
}

/** Text that groff prints as it is: a backslash and a hyphen have meanings of their own, and so have dots and quotes at the start of a line. */
function textOf(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=[.'])/gm, '\\&');
}
