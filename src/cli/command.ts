import { ownCommand } from '../config/environment/own-command.ts';
import { StartFailed } from '../node/start-failed.ts';
import { messageOf } from '../runtime/error-code.ts';
import type { Invocation } from './invocation.ts';
import { HELP_OPTION, type Option, readArguments } from './options.ts';
import { type ExitCode, type Output, UsageError } from './output.ts';

/** One command. `--help` and `docs/reference/cli.md` are printed from it. */
export interface Command {
  /** The words that call it. */
  readonly name: string;
  /** The placeholders of its operands. */
  readonly operands?: string;
  readonly help: string;
  readonly example: string;
  readonly options: readonly Option[];
  readonly run: (invocation: Invocation) => Promise<ExitCode>;
}

/** Runs a command with the arguments that follow its words in `argv`. Prints what is wrong, and returns the exit code. */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  output: Output,
): Promise<ExitCode> {
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
    return error instanceof StartFailed ? error.exitCode : 1;
  }
}
