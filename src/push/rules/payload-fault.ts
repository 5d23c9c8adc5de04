import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { findOversize } from '../messages/sizes.ts';
import { readPayloads } from '../payloads/payloads.ts';
import { FieldFault } from '../refusal.ts';
import { fillObject, hasPlaceholder } from './placeholders.ts';

/** Stands for a text of the data. */
const SAMPLE = 'x';

/**
 * Finds why payloads of a rule are refused for every event. Returns `undefined` if they are right for some data: what
 * is wrong only where a placeholder stands may be right there.
 */
export function payloadFault(payloads: JsonObject, instanceId: string): FieldFault | undefined {
  const read = readPayloads(fillObject(payloads, () => SAMPLE));
  if (read instanceof FieldFault) {
    return hasPlaceholder(partAt(payloads, read.field)) ? undefined : read;
  }
  const smallest = fillObject(payloads, () => '');
  const shortest = readPayloads(smallest);
  if (shortest instanceof FieldFault) return undefined;
  return findOversize(shortest, { instanceId }, Buffer.byteLength(JSON.stringify(smallest)));
}

/** The part of the payloads that a path names. If a name on the way is unknown, the part that should have it. */
function partAt(payloads: JsonObject, path: string): unknown {
  const names = path.split('.');
  let part: unknown = payloads;
  for (const [index, name] of names.entries()) {
    const inner = isJsonObject(part) || Array.isArray(part) ? Object(part)[name] : undefined;
    // A field that is missing is missing for all data. A name that contains dots is not missing.
    if (inner === undefined) return index === names.length - 1 ? undefined : part;
    part = inner;
  }
  return part;
}
