import { parseJsonObject } from '../../runtime/json-object.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { textOf } from './body-text.ts';
import { ApiRefusal, invalid } from './problems.ts';

/** Characters of an unknown field that are shown. */
const SHOWN_MAX = 100;

/** Reads a body that is a JSON object with no other fields than these. */
export function readFields<Name extends string>(
  body: Uint8Array,
  known: readonly Name[],
  bytesMax: number,
): Readonly<Partial<Record<Name, unknown>>> | ApiRefusal {
  if (body.length > bytesMax) return invalid(`The body may have at most ${bytesMax} bytes`);
  const text = textOf(body);
  if (text instanceof ApiRefusal) return text;
  const given = parseJsonObject(text);
  if (given === undefined) return invalid('The body must be a JSON object');
  const names: readonly string[] = known;
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return given as Partial<Record<Name, unknown>>;
  return invalid(`${printable(unknown.slice(0, SHOWN_MAX))}: unknown field`);
}
