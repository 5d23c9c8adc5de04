import { decodeLeniently } from '../request-target.ts';

/** One parameter of a query; its name in lower case, both decoded. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** How a plus sign is read: as a space, by form encoding, or as a plus, of libraries that do not escape. */
export type PlusSign = 'space' | 'plus';

/** The parameters of every signed request, spelled as nearly all libraries do. */
const COMMON_NAMES = ['auth_key', 'auth_timestamp', 'auth_version', 'body_md5', 'auth_signature'];
const COMMON = COMMON_NAMES.map((name) => ({ name, start: `${name}=` }));

/** Reads a raw query, in its order. Never throws. */
export function readQuery(query: string, plus: PlusSign = 'space'): readonly Parameter[] {
  const parameters: Parameter[] = [];
  const isPlain = !query.includes('%') && !query.includes('+');
  const decode = plus === 'space' ? formDecoded : decodeLeniently;
  const read = isPlain ? asItIs : decode;
  // Without `split`: this runs for every request, and the pieces would be most of its garbage.
  for (let at = 0; at < query.length; ) {
    const ampersand = query.indexOf('&', at);
    const end = ampersand < 0 ? query.length : ampersand;
    if (end > at)
      parameters.push(readCommon(query, at, end, read) ?? readPair(query, at, end, read));
    at = end + 1;
  }
  return parameters;
}

type Read = (text: string) => string;

/** Reads a parameter whose name is in the table: cutting out names and lower-casing them costs more than the values. */
function readCommon(query: string, at: number, end: number, read: Read): Parameter | undefined {
  for (const { name, start } of COMMON) {
    if (query.startsWith(start, at)) {
      return { name, value: read(query.slice(at + start.length, end)) };
    }
  }
  return undefined;
}

function readPair(query: string, at: number, end: number, read: Read): Parameter {
  const pair = query.slice(at, end);
  const equals = pair.indexOf('=');
  const name = equals < 0 ? pair : pair.slice(0, equals);
  const value = equals < 0 ? '' : pair.slice(equals + 1);
  return { name: read(name).toLowerCase(), value: read(value) };
}

const asItIs = (text: string): string => text;
const formDecoded = (text: string): string => decodeLeniently(text.replaceAll('+', ' '));

/** Returns the last value of a parameter. */
export function parameterOf(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.findLast((parameter) => parameter.name === name)?.value;
}

/** `channels[]=a` and PHP's `channels[0]=a` are both elements of `channels`. */
const ELEMENT = /^(.*)\[\d*\]$/s;

/** Returns the name of the array that a parameter is an element of. */
function arrayOf(name: string): string | undefined {
  return ELEMENT.exec(name)?.[1];
}

/** Returns the elements of an array parameter; `undefined` if there are none. */
export function elementsOf(
  parameters: readonly Parameter[],
  name: string,
): readonly string[] | undefined {
  const elements = parameters
    .filter((parameter) => arrayOf(parameter.name) === name)
    .map(({ value }) => value);
  return elements.length === 0 ? undefined : elements;
}

/**
 * Returns all values of a parameter, however its array is written: with brackets, with numbers in them, or by its name
 * again and again.
 */
export function valuesOf(parameters: readonly Parameter[], name: string): readonly string[] {
  return parameters
    .filter((parameter) => parameter.name === name || arrayOf(parameter.name) === name)
    .map(({ value }) => value);
}

/** Writes a query as most libraries sign it: unescaped, sorted by name. */
export function literalForm(parameters: readonly Parameter[]): string {
  let form = '';
  let last = '';
  for (const { name, value } of parameters) {
    if (name === 'auth_signature') continue;
    if (name < last) return joined(signedOf(parameters).map(literally));
    last = name;
    form += form === '' ? `${name}=${value}` : `&${name}=${value}`;
  }
  return form;
}

/**
 * Writes a query with arrays in the other forms in which libraries sign it: sorted under their bare name, as Ruby does, and
 * joined by commas, as PHP does. Source: Channels protocol, §14.1.
 */
export function arrayForms(parameters: readonly Parameter[]): readonly string[] {
  const signed = signedOf(parameters);
  if (!signed.some(({ name }) => name.endsWith(']'))) return [];

  const arrays = new Map<string, string[]>();
  const single: Part[] = [];
  for (const parameter of signed) {
    const { name, value } = parameter;
    const array = arrayOf(name);
    if (array === undefined) single.push(literally(parameter));
    else {
      const values = arrays.get(array);
      if (values === undefined) arrays.set(array, [value]);
      else values.push(value);
    }
  }
  const brackets = [...arrays].map(([name, values]) => ({
    sort: name,
    text: values.map((value) => `${name}[]=${value}`).join('&'),
  }));
  const commas = [...arrays].map(([name, values]) => ({
    sort: name,
    text: `${name}=${values.join(',')}`,
  }));
  return [joined([...single, ...brackets]), joined([...single, ...commas])];
}

interface Part {
  readonly sort: string;
  readonly text: string;
}

function signedOf(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ name }) => name !== 'auth_signature');
}

function literally({ name, value }: Parameter): Part {
  return { sort: name, text: `${name}=${value}` };
}

function joined(parts: readonly Part[]): string {
  return parts
    .toSorted((a, b) => (a.sort < b.sort ? -1 : a.sort > b.sort ? 1 : 0))
    .map(({ text }) => text)
    .join('&');
}
