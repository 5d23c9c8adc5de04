import { type RedisError, RedisUnsuitable } from '../reply.ts';

/** Why a server of a cluster has not run a command: another one has the slot; the slot is being moved; the server is not ready. */
export type RefusalKind = 'moved' | 'moving' | 'down';

const KINDS: Readonly<Record<string, RefusalKind>> = {
  MOVED: 'moved',
  ASK: 'moving',
  TRYAGAIN: 'moving',
  CLUSTERDOWN: 'down',
  LOADING: 'down',
  MASTERDOWN: 'down',
};

/** Returns the kind of a refusal that proves that nothing has run. */
export function refusalKind({ code, message }: RedisError): RefusalKind | undefined {
  // A script that has begun may have written before.
  return / script: [0-9a-f]{40}/.test(message) ? undefined : KINDS[code];
}

/** What is said of a command that there is not, or that the user may not run; in scripts, by Redis 7 and by later releases. */
const LACKS =
  /unknown (?:redis )?command|^NOPERM|can't run this command|no permissions to run the/i;

/** Returns what a service lacks without which no server of this kind can be used, if an error or a probe says so. */
export function lackOf(message: string): RedisUnsuitable | undefined {
  if (!LACKS.test(message)) return undefined;
  const text = /\b(?:ssubscribe|spublish)\b/i.test(message)
    ? 'has no sharded publish and subscribe (SSUBSCRIBE), which a cluster needs'
    : 'does not run scripts, which the engine needs';
  if (!/\b(?:ssubscribe|spublish|eval|evalsha)\b/i.test(message)) return undefined;
  return new RedisUnsuitable(`this Redis ${text}: ${message}`);
}
