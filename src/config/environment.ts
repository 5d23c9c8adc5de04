import { z } from 'zod';
import { didYouMean } from './nearest.ts';
import { isObject } from './plain-json.ts';
import { type Problem, quote } from './problems.ts';
import { type Setting, settingsOf } from './schema-walk.ts';
import { isServiceLink } from './service-links.ts';

/** Environment variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says about settings. */
export interface Overrides {
  /** The file's content with the variables' values laid over it. */
  readonly value: unknown;
  /** The variable behind each setting that has one, by the setting's path. */
  readonly variables: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

const PREFIX = 'FANFARE_';

/** Stands for `--config`; it names the file and is no setting. */
export const FILE_VARIABLE = 'FANFARE_CONFIG';

/** Names the variable for a setting: `channels.maxConnections` is `FANFARE_CHANNELS_MAX_CONNECTIONS`. */
function variableFor(path: string): string {
  const words = path.replaceAll('.', '_').replace(/[A-Z]/g, (letter) => `_${letter}`);
  return `${PREFIX}${words.toUpperCase()}`;
}

/** Names the variable that overrides a setting; only one value outside of every list has one. */
export function environmentName(setting: Setting): string | undefined {
  return isScalar(setting.schema) && !setting.path.includes('[]')
    ? variableFor(setting.path)
    : undefined;
}

function isScalar(schema: z.ZodType): boolean {
  return (
    schema instanceof z.ZodString ||
    schema instanceof z.ZodNumber ||
    schema instanceof z.ZodBoolean ||
    schema instanceof z.ZodEnum
  );
}

/** Lays the settings that the environment gives over the content of a file. */
export function applyEnvironment(
  schema: z.ZodType,
  content: unknown,
  environment: Environment,
): Overrides {
  const outsideLists = settingsOf(schema).filter((setting) => !setting.path.includes('[]'));
  const settings = new Map(
    outsideLists
      .filter((setting) => isScalar(setting.schema))
      .map((setting) => [variableFor(setting.path), setting]),
  );
  const onlyInFile = new Set(
    outsideLists
      .filter((setting) => !isScalar(setting.schema))
      .map((setting) => variableFor(setting.path)),
  );

  let value = content;
  const variables = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [name, text] of Object.entries(environment)) {
    if (text === undefined || !name.startsWith(PREFIX) || name === FILE_VARIABLE) continue;
    if (isServiceLink(name, text)) continue;
    const setting = settings.get(name);
    if (setting === undefined) {
      const message = onlyInFile.has(name)
        ? 'can only be set in the file'
        : `unknown setting${didYouMean(name, settings.keys())}`;
      problems.push({ path: /^\w+$/.test(name) ? name : quote(name), message });
      continue;
    }
    const read = readText(setting, text);
    if ('message' in read) {
      problems.push({ path: variablePath(name, setting.path), message: read.message });
    }
    variables.set(setting.path, name);
    value = withValue(value, setting.path.split('.'), 'value' in read ? read.value : text);
  }
  return { value, variables, problems };
}

/** Writes where a problem is that an environment variable brought in. */
export function variablePath(name: string, path: string): string {
  return `${name} (${path})`;
}

type ReadText = { readonly value: unknown } | { readonly message: string };

/** Reads a variable by the type of its setting. Bounds and forms are left to the schema. */
function readText({ schema, nullable }: Setting, text: string): ReadText {
  if (text === '' && nullable) return { value: null };
  if (schema instanceof z.ZodNumber) {
    // Exponents and hexadecimal numbers are refused: nobody means them here.
    return /^-?\d{1,20}(?:\.\d{1,20})?$/.test(text)
      ? { value: Number(text) }
      : { message: `must be a whole number, got ${quote(text)}` };
  }
  if (schema instanceof z.ZodBoolean) {
    return text === 'true' || text === 'false'
      ? { value: text === 'true' }
      : { message: `must be true or false, got ${quote(text)}` };
  }
  return { value: text };
}

/**
 * Copies a value with one setting in it changed. Where the file has something else in place of a group,
 * nothing changes: that is a problem of its own, which the schema reports.
 */
function withValue(content: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const group = content === undefined ? {} : content;
  return isObject(group) ? { ...group, [name]: withValue(group[name], rest, value) } : group;
}
