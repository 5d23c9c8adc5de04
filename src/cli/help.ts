import type { Command } from './command.ts';
import { commands } from './commands.ts';
import { HELP_OPTION, type Option } from './options.ts';
import { exitCodes } from './output.ts';

/** Lists all commands, or those of a group such as `apps`. */
export function helpOfAll(group: string | undefined): string {
  const ofGroup = commands.filter(({ name }) => name.startsWith(`${group} `));
  const listed = ofGroup.length > 0 ? ofGroup : commands;
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `${code} ${meaning}`);
  return [
    'Fanfare: a self-hosted server for realtime messaging and push notifications.',
    '',
    ...columns(listed.map((command) => [`  fanfare ${usageOf(command)}`, command.help])),
    '',
    `Every command has --help. Exit codes: ${codes.join('; ')}.`,
  ].join('\n');
}

/** Explains one command. */
export function helpOf(command: Command): string {
  const { help, example, options } = command;
  const rows = [...options, HELP_OPTION].map((option): [string, string] => [
    `  ${optionUsage(option)}`,
    option.help,
  ]);
  return [
    `fanfare ${usageOf(command)} [options]`,
    '',
    help,
    '',
    ...columns(rows),
    '',
    `Example: ${example}`,
  ].join('\n');
}

/** The name of a command and its operands. */
export function usageOf({ name, operands }: Command): string {
  return operands === undefined ? name : `${name} ${operands}`;
}

/** An option with its value, as it is typed. */
export function optionUsage({ name, value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`);
}
