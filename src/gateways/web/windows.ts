import { type HeaderField, plainField } from '../../outgoing/http2/hpack/header-field.ts';

/** The push service of Windows, which Edge uses. It has header fields of its own. Source: Microsoft, "WNS headers". */
const WINDOWS = /(?:^|\.)notify\.windows\.com$/;

const CACHE = plainField('x-wns-cache-policy', 'cache');
const NO_CACHE = plainField('x-wns-cache-policy', 'no-cache');

/** Whether a push service is that of Windows. */
export function isWindows(hostname: string): boolean {
  return WINDOWS.test(hostname);
}

/** Whether messages wait for devices that are offline. The service refuses a value that contradicts the time to live. */
export function windowsCachePolicy(ttlSeconds: number): HeaderField {
  return ttlSeconds > 0 ? CACHE : NO_CACHE;
}

/** Reads why a message was refused: the service has no words in the body. `headerOf`: by name in lower case. */
export function windowsWords(headerOf: (name: string) => string | undefined): string | undefined {
  const words = WORDS.map(([name, label]) => {
    const value = headerOf(name);
    return value === undefined || value === '' ? undefined : `${label}${value}`;
  }).filter((text) => text !== undefined);
  return words.length === 0 ? undefined : words.join(', ');
}

const WORDS = [
  ['x-wns-error-description', ''],
  ['x-wns-status', 'status '],
  ['x-wns-notificationstatus', 'status '],
  ['x-wns-deviceconnectionstatus', 'device '],
] as const;
