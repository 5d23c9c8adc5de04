import type { z } from 'zod';
import { redactUrls } from '../../runtime/logging/redact.ts';
import { membersOf, schemaAt, settingsOf } from '../schema-walk.ts';
import { isObject } from '../settings/plain-json.ts';
import { byWords, didYouMean, type FindByWords } from './nearest.ts';

/** A problem of a configuration. Never contains a secret. */
export interface ConfigProblem {
  /** A setting such as `channels.apps[0].id`, an environment variable, or a file. */
  readonly path: string;
  readonly message: string;
}

/** Characters of a wrong value that a message repeats. */
const QUOTED_LENGTH_MAX = 60;

/** One line for people. */
export function formatProblem(problem: ConfigProblem): string {
  return `${problem.path}: ${problem.message}`;
}

/** Keeps the first problem of each path. One mistake can break several rules, and the first one explains it best. */
export function onePerPath(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  const seen = new Set<string>();
  return problems.filter(({ path }) => !seen.has(path) && seen.add(path));
}

/** Formats a path, for example `channels.apps[0].id`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map(stepText).join('').replace(/^\./, '');
}

function stepText(step: PropertyKey): string {
  if (typeof step === 'number') return `[${step}]`;
  const name = String(step);
  return /^[\w$-]{1,60}$/.test(name) ? `.${name}` : `[${quote(name)}]`;
}

/** Quotes text from outside, shortened and on one line. */
export function quote(text: string): string {
  // A URL in the wrong place may contain a password.
  const shown = redactUrls(text);
  return shown.length > QUOTED_LENGTH_MAX
    ? `${JSON.stringify(shown.slice(0, QUOTED_LENGTH_MAX))}…`
    : JSON.stringify(shown);
}

/** Converts the issues of zod to problems, each when it is asked for: a hint costs time, and there may be thousands. */
export function* problemsOf(schema: z.ZodType, error: z.ZodError): Generator<ConfigProblem, void> {
  let byPath: FindByWords | undefined;
  const elsewhere = (name: string) => {
    // A setting of a list has many places, so none is suggested.
    const paths = () =>
      settingsOf(schema).flatMap(({ path }) => (path.includes('[]') ? [] : [path]));
    byPath ??= byWords(paths(), '.');
    return byPath(name);
  };
  for (const issue of error.issues) {
    if (issue.code !== 'unrecognized_keys') {
      yield { path: pathText(issue.path), message: issue.message };
      continue;
    }
    for (const key of issue.keys)
      yield unknownSetting({ schema, elsewhere }, issue.path, key, issue.message);
  }
}

interface Known {
  readonly schema: z.ZodType;
  /** Finds settings of other groups. */
  readonly elsewhere: FindByWords;
}

function unknownSetting(
  { schema, elsewhere }: Known,
  group: readonly PropertyKey[],
  name: string,
  message: string,
): ConfigProblem {
  const found = schemaAt(schema, group);
  const known = found === undefined ? [] : membersOf(found).map(([member]) => member);
  // If the name is known, the message already explains why it is wrong at this place.
  const hint = known.includes(name) ? '' : didYouMean(name, known, elsewhere);
  return { path: pathText([...group, name]), message: `${message}${hint}` };
}

/**
 * The message for an issue of zod. Messages of the schema itself take precedence. Only numbers and wrong choices are
 * repeated, because no secret is one of these.
 */
export function wording(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return 'required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${expectations[issue.expected] ?? issue.expected}, got ${kindOf(issue.input)}`;
    case 'invalid_value':
      return notAmong(issue.values, issue.input);
    case 'invalid_union':
      return issue.inclusive === false
        ? undefined
        : notAmong(issue.options ?? [], discriminatorIn(issue.input, issue.discriminator));
    case 'unrecognized_keys':
      return 'unknown setting';
    default:
      return undefined;
  }
}

const expectations: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function discriminatorIn(group: unknown, name: string | undefined): unknown {
  return isObject(group) && name !== undefined ? group[name] : group;
}

function notAmong(choices: readonly unknown[], input: unknown): string {
  const known = choices.filter((choice) => typeof choice === 'string');
  const got = typeof input === 'string' ? quote(input) : kindOf(input);
  const names = known.map((choice) => `"${choice}"`).join(', ');
  return `must be one of ${names}, got ${got}`;
}

/** The kind of a value, without the value. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
}
