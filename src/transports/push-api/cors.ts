import type { PushFamily } from './routes.ts';

type Headers = Readonly<Record<string, string>>;

/** Called by pages of any site. The others take a secret key, which has no place in a browser. */
const open: readonly PushFamily[] = ['device', 'reporting', 'sdk'];

const NONE: Headers = {};

const EVERY_ANSWER: Headers = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after',
};

const PREFLIGHT: Headers = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE',
  'access-control-allow-headers': 'content-type, authorization, x-pusher-library',
  // A day. Browsers take less.
  'access-control-max-age': '86400',
};

/** What lets a page of another site read an answer, refusals included. Source: push protocol, §1.8. */
export function corsOf(family: PushFamily): Headers {
  return open.includes(family) ? EVERY_ANSWER : NONE;
}

/** What a browser is told that asks before it calls, whether the path exists or not; `undefined` where it may not call. */
export function preflightOf(family: PushFamily): Headers | undefined {
  return open.includes(family) ? PREFLIGHT : undefined;
}
