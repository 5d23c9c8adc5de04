import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { memberText } from '../../runtime/json-slices.ts';

declare global {
  // Missing in the types of TypeScript. Source: ECMAScript, "JSON.parse source text access".
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
  }
}

/** Matches every number that would change if it were parsed and written again. */
const MAY_CHANGE = /\d{16}|\d[eE]/;

/**
 * Replaces the data of a live publish by their JSON text, in which numbers are as the backend wrote them: ids beyond 2^53
 * would lose digits. `text` is the body that the fields were read from.
 */
export function withExactData(fields: JsonObject, text: string): JsonObject {
  const { live } = fields;
  if (!isJsonObject(live) || typeof live['data'] === 'string') return fields;
  const written = memberText(memberText(text, 'live') ?? '', 'data');
  if (written === undefined || !MAY_CHANGE.test(written)) return fields;
  const data = rewrite(written);
  return data === undefined ? fields : { ...fields, live: { ...live, data } };
}

/** Writes JSON again with the same numbers; `undefined` if it nests too deeply. */
function rewrite(json: string): string | undefined {
  try {
    return JSON.stringify(
      JSON.parse(json, (_, value, { source }) =>
        typeof value === 'number' && source !== undefined ? JSON.rawJSON(source) : value,
      ),
    );
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
