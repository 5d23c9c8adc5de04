import type { PushFamily } from './routes.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * Called by pages of any site, which must be able to read that a path is unknown. The other families need a secret key,
 * which must not be in a browser.
 */
const open: readonly PushFamily[] = ['device', 'reporting', 'sdk', 'other'];

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

/** The headers that let a page of another site read an answer or a refusal. Source: push protocol, §1.8. */
export function corsOf(family: PushFamily): Headers {
  return open.includes(family) ? EVERY_ANSWER : NONE;
}

/** The headers for a preflight request, whether the path exists or not; `undefined` if pages may not call it. */
export function preflightOf(family: PushFamily): Headers | undefined {
  return open.includes(family) ? PREFLIGHT : undefined;
}
