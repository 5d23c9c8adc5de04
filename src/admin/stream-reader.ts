import type { Caller } from '../runtime/caller.ts';
import { STREAM_MS, STREAM_OF_PROXY_MS } from '../watching/limits.ts';
import { hasRole, type Rights, seesEverything } from './rights.ts';

/** Who reads a stream. */
export interface StreamReader {
  readonly caller: Caller;
  readonly rights: Rights;
  /** Aborts when the reader has disconnected or is no longer authorised. */
  readonly signal: AbortSignal;
}

/** The owner of a stream, for fair shares, and how long the stream may last. */
export function ownerOf({ caller, rights }: StreamReader) {
  const { how, user } = caller;
  return {
    owner: `${how} ${user ?? ''}`,
    isAdmin: hasRole(rights.role, 'admin') && seesEverything(rights),
    lifeMs: how === 'proxy' ? STREAM_OF_PROXY_MS : STREAM_MS,
  };
}
