import { decodeLeniently } from '../request-target.ts';

/** One parameter of a query; its name in lower case, both decoded. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** How a plus sign is read: form encoding writes a space so, and libraries that do not escape mean a plus. */
export type PlusSign = 'space' | 'plus';

/** Reads a raw query in the order in which it was written. Never throws. */
export function readQuery(query: string, plus: PlusSign = 'space'): readonly Parameter[] {
  if (query === '') return [];
  const decode = (text: string) =>
    decodeLeniently(plus === 'space' ? text.replaceAll('+', ' ') : text);
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const name = equals < 0 ? pair : pair.slice(0, equals);
      const value = equals < 0 ? '' : pair.slice(equals + 1);
      return { name: decode(name).toLowerCase(), value: decode(value) };
    });
}

/** The last value of a parameter. */
export function parameterOf(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.findLast((parameter) => parameter.name === name)?.value;
}

/** `channels[]=a` and PHP's `channels[0]=a` are both elements of `channels`. */
const ELEMENT = /^(.*)\[\d*\]$/s;

/** The name of the array that a parameter is an element of. */
function arrayOf(name: string): string | undefined {
  return ELEMENT.exec(name)?.[1];
}

/** The elements of an array parameter, or `undefined` where there are none. */
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
 * The forms in which the libraries sign a query, most likely first: as it is written; with arrays sorted
 * under their bare name, as Ruby does; with arrays joined by commas, as PHP does.
 * Source: Channels protocol, §14.1.
 */
export function signedForms(parameters: readonly Parameter[]): readonly string[] {
  const signed = parameters.filter(({ name }) => name !== 'auth_signature');
  const literal = joined(
    signed.map(({ name, value }) => ({ sort: name, text: `${name}=${value}` })),
  );
  if (!signed.some(({ name }) => name.endsWith(']'))) return [literal];

  const arrays = new Map<string, string[]>();
  const single: { sort: string; text: string }[] = [];
  for (const { name, value } of signed) {
    const array = arrayOf(name);
    if (array === undefined) single.push({ sort: name, text: `${name}=${value}` });
    else arrays.set(array, [...(arrays.get(array) ?? []), value]);
  }
  const brackets = [...arrays].map(([name, values]) => ({
    sort: name,
    text: values.map((value) => `${name}[]=${value}`).join('&'),
  }));
  const commas = [...arrays].map(([name, values]) => ({
    sort: name,
    text: `${name}=${values.join(',')}`,
  }));
  return [literal, joined([...single, ...brackets]), joined([...single, ...commas])];
}

function joined(parts: readonly { readonly sort: string; readonly text: string }[]): string {
  return parts
    .toSorted((a, b) => (a.sort < b.sort ? -1 : a.sort > b.sort ? 1 : 0))
    .map(({ text }) => text)
    .join('&');
}
