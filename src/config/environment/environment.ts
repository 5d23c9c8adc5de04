import { z } from 'zod';
import { byWords, didYouMean } from '../file/nearest.ts';
import { type ConfigProblem, quote } from '../file/problems.ts';
import { type Setting, settingsOf } from '../schema-walk.ts';
import { isObject } from '../settings/plain-json.ts';
import { valueAt } from '../settings/unchecked.ts';
import { APP_VARIABLES, withAppOfEnvironment } from './app-variables.ts';
import { withPlatformPort } from './platform-port.ts';
import { FILE_SUFFIX, type ReadSecret, readSecretFile, SECRET_SETTINGS } from './secret-files.ts';
import { isServiceLink } from './service-links.ts';
import { sharedValues } from './shared-variables.ts';
import {
  COMMAND_VARIABLE,
  type EnvironmentVariables,
  FILE_VARIABLE,
  type Overrides,
} from './variables.ts';

const PREFIX = 'FANFARE_';

/** Variables that are not those of one setting. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  FILE_VARIABLE,
  COMMAND_VARIABLE,
  ...APP_VARIABLES,
]);

/** The variable of a setting: `FANFARE_CHANNELS_MAX_CONNECTIONS` for `channels.maxConnections`. */
function variableFor(path: string): string {
  const words = path.replaceAll('.', '_').replace(/[A-Z]/g, (letter) => `_${letter}`);
  return `${PREFIX}${words.toUpperCase()}`;
}

/** The variable that overrides a setting. Single values and lists of texts have one, unless they are in a list. */
export function environmentName(setting: Setting): string | undefined {
  return isText(setting.schema) && !setting.path.includes('[]')
    ? variableFor(setting.path)
    : undefined;
}

/** The variable that names a file with the value of a setting. Only settings that may hold a secret have one. */
export function secretFileName(setting: Setting): string | undefined {
  return SECRET_SETTINGS.has(setting.path)
    ? `${variableFor(setting.path)}${FILE_SUFFIX}`
    : undefined;
}

/** Whether a setting can be written as one text. */
function isText(schema: z.ZodType): boolean {
  return isScalar(schema) || isListOfTexts(schema);
}

function isListOfTexts(schema: z.ZodType): boolean {
  return schema instanceof z.ZodArray && schema.element instanceof z.ZodString;
}

function isScalar(schema: z.ZodType): boolean {
  return (
    schema instanceof z.ZodString ||
    schema instanceof z.ZodNumber ||
    schema instanceof z.ZodBoolean ||
    schema instanceof z.ZodEnum ||
    (schema instanceof z.ZodUnion && !(schema instanceof z.ZodDiscriminatedUnion))
  );
}

/** Overrides the content of a file with settings of the environment. */
export function applyEnvironment(
  schema: z.ZodType,
  content: unknown,
  environment: EnvironmentVariables,
): Overrides {
  const outsideLists = settingsOf(schema).filter((setting) => !setting.path.includes('[]'));
  const settings = new Map(
    outsideLists
      .filter((setting) => isText(setting.schema))
      .map((setting) => [variableFor(setting.path), setting]),
  );
  const inSecretFiles = new Map(
    outsideLists.flatMap((setting) => {
      const name = secretFileName(setting);
      return name === undefined ? [] : [[name, setting]];
    }),
  );
  const onlyInFile = new Set(
    outsideLists
      .filter((setting) => !isText(setting.schema))
      .map((setting) => variableFor(setting.path)),
  );
  const known = [...settings.keys(), ...inSecretFiles.keys(), ...APP_VARIABLES];

  const longerNames = byWords(known, '_');

  let value = content;
  const variables = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  for (const [name, given] of Object.entries(environment)) {
    if (given === undefined || !name.startsWith(PREFIX) || OTHER_VARIABLES.has(name)) continue;
    if (isServiceLink(name, given)) continue;
    const inFile = inSecretFiles.get(name);
    const setting = settings.get(name) ?? inFile;
    if (setting === undefined) {
      const message = onlyInFile.has(name)
        ? 'can only be set in the file'
        : `unknown setting${didYouMean(name, known, longerNames)}`;
      problems.push({ path: /^\w+$/.test(name) ? name : quote(name), message });
      continue;
    }
    const text = inFile === undefined ? { value: given } : secretOf(name, given, environment);
    if ('message' in text) {
      problems.push({ path: variablePath(name, setting.path), message: text.message });
      continue;
    }
    const read = readText(setting, text.value);
    if ('message' in read) {
      problems.push({ path: variablePath(name, setting.path), message: read.message });
    }
    variables.set(setting.path, name);
    value = withValue(value, setting.path.split('.'), 'value' in read ? read.value : text.value);
  }
  for (const { path, name, value: shared } of sharedValues(environment)) {
    const names = path.split('.');
    if ((valueAt(value, names) ?? null) !== null) continue;
    variables.set(path, name);
    value = withValue(value, names, shared);
  }
  const withPort = withPlatformPort(value, environment);
  const withApp = withAppOfEnvironment(withPort.value, environment);
  return {
    value: withApp.value,
    variables: new Map([...variables, ...withPort.variables, ...withApp.variables]),
    problems: [...problems, ...withPort.problems, ...withApp.problems],
  };
}

function secretOf(name: string, file: string, environment: EnvironmentVariables): ReadSecret {
  const plain = name.slice(0, -FILE_SUFFIX.length);
  return environment[plain] === undefined
    ? readSecretFile(file)
    : { message: `cannot be set together with ${plain}` };
}

/** The place of a problem in an environment variable. */
export function variablePath(name: string, path: string): string {
  return `${name} (${path})`;
}

type ReadText = { readonly value: unknown } | { readonly message: string };

/** Reads a variable by the type of its setting. The schema checks bounds and patterns. */
function readText({ schema, nullable }: Setting, text: string): ReadText {
  if (text === '' && nullable) return { value: null };
  if (schema instanceof z.ZodNumber) {
    // Exponents and hexadecimal numbers are refused: here they are mistakes.
    return /^-?\d{1,20}(?:\.\d{1,20})?$/.test(text)
      ? { value: Number(text) }
      : { message: `must be a whole number, got ${quote(text)}` };
  }
  // A word or a number.
  if (schema instanceof z.ZodUnion) return { value: /^\d+$/.test(text) ? Number(text) : text };
  if (schema instanceof z.ZodArray) return { value: text.split(/\s+/).filter(Boolean) };
  if (schema instanceof z.ZodBoolean) {
    return text === 'true' || text === 'false'
      ? { value: text === 'true' }
      : { message: `must be true or false, got ${quote(text)}` };
  }
  return { value: text };
}

/**
 * Copies a value with one setting changed. If the file has another kind of value in place of a group, nothing
 * changes, and the schema reports that.
 */
function withValue(content: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const group = content === undefined ? {} : content;
  return isObject(group) ? { ...group, [name]: withValue(group[name], rest, value) } : group;
}
