import { inBandProblems } from '../src/channels/problems/problems.ts';
import { statuses } from '../src/transports/channels-api/problems.ts';
import { authMistakes } from '../src/transports/channels-api/unauthenticated.ts';
import {
  type CloseRow,
  closeCodes,
  nativeCloseCodes,
} from '../src/transports/clients/closing/close-codes.ts';
import { statuses as pushStatuses } from '../src/transports/push-api/problems.ts';

/** `docs/reference/errors.md`: every number that a client can see, from the tables that the server itself uses. */
export function printErrors(): string {
  return [
    '# Errors',
    '',
    'Every status and code that a client or a backend can see, when it happens, and what to do. This page is',
    "printed from the server's own tables by `npm run docs`.",
    '',
    '## HTTP API',
    '',
    'Errors are plain text: the libraries show the text to their users as it is. The log has one line for each.',
    '',
    ...table(
      ['status', 'when', 'what to do'],
      Object.values(statuses).map(({ status, when, advice }) => [String(status), when, advice]),
    ),
    '',
    'Requests that are no valid HTTP are answered by the runtime with 400, 431 (a head of more than 16 KiB or 200',
    'headers) or 505, without a body, and their connection is closed.',
    '',
    '### 401',
    '',
    'The text is that of the hosted service. The log (`mistake`) and the page Problems of the dashboard tell the first',
    'three apart.',
    '',
    ...table(
      ['text begins with', 'when', 'what to do'],
      Object.values(authMistakes).map(({ text, when, advice }) => [`\`${text}\``, when, advice]),
    ),
    '',
    '## Connections that are closed',
    '',
    'With a code of 4000 or more a `pusher:error` with the same code and text is sent first, on every version of',
    'the protocol. Clients do not come back after 4000 to 4099, come back after a pause after 4100 to 4199, and at',
    'once after 4200 to 4299.',
    '',
    ...table(
      ['code', 'text', 'when', 'what to do'],
      [...nativeCloseCodes, ...Object.values(closeCodes)]
        .toSorted((a, b) => a.code - b.code)
        .map(closeRow),
    ),
    '',
    '## Errors on an open connection',
    '',
    'These come as a `pusher:error` whose `code` is mostly `null`, as on the hosted service; the connection stays',
    'open. Where a subscription was refused, a `pusher:subscription_error` with the name of the channel follows.',
    '',
    ...table(
      ['problem', 'code', '`pusher:subscription_error`', 'when', 'what to do'],
      Object.entries(inBandProblems).map(([problem, { code, subscription, when, advice }]) => [
        problem,
        String(code),
        subscription === undefined ? '' : `\`${subscription.type}\`, ${subscription.status}`,
        when,
        advice,
      ]),
    ),
    '',
    '## Push API',
    '',
    'Every error of the push listener is JSON, requests that are no valid HTTP included: `{"error": title,',
    '"description": text}`. The text says what was wrong with this request. The log has one line for each, which',
    'leaves out the ids of devices and users.',
    '',
    ...table(
      ['status', 'title', 'when', 'what to do'],
      Object.values(pushStatuses).map(({ status, title, when, advice }) => [
        String(status),
        title,
        when,
        advice,
      ]),
    ),
    '',
  ].join('\n');
}

function closeRow({ code, message, when, advice }: CloseRow): string[] {
  return [String(code), message, when, advice];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
