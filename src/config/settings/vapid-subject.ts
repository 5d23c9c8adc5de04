import { isObject } from './plain-json.ts';

/** A host name with at least two labels. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]$/i;

/**
 * Returns the rule that the VAPID subject of `web` breaks, or `undefined`. Apple refuses every notification from a subject
 * without an address, with angle brackets, or at localhost. Instances for tests, which allow private addresses, may have
 * any. Reads unchecked settings, and ignores what the schema refuses.
 */
export function vapidSubjectFault(web: unknown): string | undefined {
  if (!isObject(web) || web['allowPrivateAddresses'] === true) return undefined;
  const subject = isObject(web['vapid']) ? web['vapid']['subject'] : undefined;
  if (typeof subject !== 'string' || !/^(?:mailto:|https:\/\/)/.test(subject)) return undefined;
  const domain = subject.startsWith('mailto:') ? mailDomain(subject) : urlDomain(subject);
  if (domain !== undefined && DOMAIN.test(domain) && !/\.localhost$/i.test(domain))
    return undefined;
  return 'must be mailto: with an address such as ops@example.com, or an https:// URL, at a domain of yours: Apple refuses others, such as localhost';
}

function mailDomain(subject: string): string | undefined {
  return /^mailto:[^\s<>@,]+@([^\s@]+)$/.exec(subject)?.[1];
}

function urlDomain(subject: string): string | undefined {
  return URL.parse(subject)?.hostname;
}
