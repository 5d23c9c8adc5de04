import { isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import type { GrantPattern } from './grant.ts';
import { readPatterns } from './read-patterns.ts';

export type ReadUserGrants =
  | {
      readonly ok: true;
      readonly patterns: readonly GrantPattern[];
      /** Seconds since 1970; `undefined`: it lasts as long as the connection. */
      readonly endsAtSeconds: number | undefined;
    }
  | { readonly ok: false; readonly why: string };

/** Reads the grants in a `user_data` that a backend has signed; `undefined`: it has none. Source: identity, §3.2. */
export function readUserGrants(
  userData: string,
  { nowSeconds, leewaySeconds }: { readonly nowSeconds: number; readonly leewaySeconds: number },
): ReadUserGrants | undefined {
  const grants = parseJsonObject(userData)?.['grants'];
  if (grants === undefined || grants === null) return undefined;
  if (!isJsonObject(grants)) return wrong('grants must be an object with channels');
  const read = readPatterns(grants['channels'] ?? {});
  if (!read.ok) return wrong(`grants.channels ${read.why}`);
  const exp = grants['exp'] ?? undefined;
  if (exp === undefined) return { ok: true, patterns: read.patterns, endsAtSeconds: undefined };
  if (typeof exp !== 'number' || !Number.isFinite(exp)) {
    return wrong('grants.exp must be a time in seconds since 1970');
  }
  if (exp + leewaySeconds <= nowSeconds) return wrong('grants.exp must not be over');
  return { ok: true, patterns: read.patterns, endsAtSeconds: exp };
}

function wrong(why: string): ReadUserGrants {
  return { ok: false, why: `Invalid user_data: ${why}` };
}
