import { excerpt, type Finding, failed } from '../finding.ts';
import type { TargetAddress } from '../target.ts';

/** What each code means, and what helps. Source: Channels protocol, §4; RFC 6455, §7.4.1. */
const codes: Readonly<Record<number, readonly [meaning: string, advice: string]>> = {
  1000: ['the server closes the connection', 'Look at its log for the reason.'],
  1001: ['the server is going away', 'It is being stopped or restarted; try again.'],
  1006: [
    'the connection was cut without a word',
    'The server or a proxy ended it: look at the logs of both for this moment (a crash, a restart, a limit, an idle timeout).',
  ],
  1008: ['the server refuses by a rule of its own', 'Look at its log for the rule.'],
  1009: ['a message was too large for the server', 'Raise its limit for messages of clients.'],
  1011: ['the server failed', 'Look at its log.'],
  1012: ['the server restarts', 'Try again.'],
  1013: ['the server is overloaded', 'Try again later; give it more room.'],
  4000: [
    'the app takes only TLS',
    'Write the URL with https://, and set forceTLS: true in clients.',
  ],
  4001: [
    'the server knows no app with this key',
    'Compare --key with the app on the server (Fanfare: fanfare apps list). On the hosted service, the key may be of another cluster.',
  ],
  4003: ['the app is disabled', 'Enable it again (Fanfare: fanfare apps enable ID).'],
  4004: [
    'the app has as many connections as it may have',
    'Raise its limit of connections, or find out which clients hold them open.',
  ],
  4005: [
    'the server does not know this path',
    'If the server is mounted under a path, put exactly that into --url, and into its own settings (Fanfare: channels.pathPrefix).',
  ],
  4006: [
    'the server cannot read the protocol version',
    'Something changes the query of the URL on the way: the proxy must pass ?protocol=7 on.',
  ],
  4007: ['the server does not speak protocol 7', 'Upgrade the server.'],
  4008: [
    'the server sees no protocol version',
    'Something cuts the query off on the way: the proxy must pass ?protocol=7 on.',
  ],
  4009: [
    'the server says that this connection is not authorised',
    'Someone ended it through the HTTP API, or the app wants connections to sign in within a time.',
  ],
  4100: [
    'the server is at its capacity, stops, or cannot reach its Redis',
    'Look at /readyz of the server. Raise its limit, add a node, or wait: clients try again.',
  ],
  4200: [
    'the server asks to connect again',
    'It is being stopped or restarted, or this connection may have missed events because the server could not reach its Redis; try again.',
  ],
  4201: [
    'the server missed our answer to its ping',
    'Something holds messages back; see "pusher-ping".',
  ],
  4202: ['the connection was silent for a day', 'Connect again.'],
};

/** Explains why a connection was refused or ended, by the code of the error or of the close. */
export function explainCode(code: number | null, text: string, endpoint: TargetAddress): Finding {
  const said = text === '' ? '' : `: "${excerpt(text)}"`;
  const [meaning, advice] = (code === null ? undefined : codes[code]) ?? [
    'the server ends the connection',
    'Look at its log for the reason.',
  ];
  const path = code === 4005 ? ` ${endpoint.prefix}/app/KEY` : '';
  return failed(`${meaning}${path} (${code ?? 'no code'}${said})`, advice);
}
