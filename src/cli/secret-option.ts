import { type ReadSecret, readSecret, readSecretFile } from '../config/environment/secret-files.ts';
import { messageOf } from '../runtime/error-code.ts';
import type { Arguments, Option } from './options.ts';
import { UsageError } from './output.ts';

/** The value of the option for a file that means standard input. */
const STANDARD_INPUT = '-';

/** An option whose value is a secret, and one that names a file with it: other users see arguments of commands. */
export function secretOptions(option: Option & { readonly value: string }): readonly Option[] {
  const { name, help } = option;
  return [
    {
      ...option,
      help: `${help} Other users of this machine see it in the list of processes, and the shell keeps it in its history: prefer --${name}-file.`,
    },
    {
      name: `${name}-file`,
      value: 'FILE',
      help: `The same, read from a file or a pipe; ${STANDARD_INPUT} reads standard input.`,
    },
  ];
}

/** The value of an option that `secretOptions` made, given in either way. Throws `UsageError`. */
export function secretOf(given: Arguments, name: string): string | undefined {
  const value = given.value(name);
  const file = given.value(`${name}-file`);
  if (file === undefined) return value;
  if (value !== undefined) throw new UsageError(`give either --${name} or --${name}-file`);
  const read =
    file === STANDARD_INPUT ? readStandardInput() : readSecretFile(file, { pipes: true });
  if ('message' in read) throw new UsageError(`--${name}-file: ${read.message}`);
  return read.value;
}

function readStandardInput(): ReadSecret {
  try {
    return readSecret(0, 'standard input');
  } catch (error) {
    return { message: `standard input cannot be read (${messageOf(error)})` };
  }
}
