import type { ApiClient } from '../client/api-client.ts';
import type { ServerMessage } from '../client/client-messages.ts';
import type { ClientSession } from '../client/client-session.ts';
import { proxyAdvice } from '../explain/proxy-advice.ts';
import { excerpt, type Finding, failed, ok, warning } from '../finding.ts';
import { checkSubscription } from './connection-checks.ts';

/** The name of the event that `checkDelivery` waits for. */
export const HELLO = 'doctor-hello';

/** Milliseconds on the way from which on people notice. */
export const SLOW_MS = 1000;
/** Bytes of the event that must arrive unchanged. Every server accepts 10,240. Source: §14.2. */
const DATA_BYTES = 10_000;
/** Characters that break faulty encodings, escapes and line readers. */
const DIFFICULT = 'Grüße, 你好, 😀, \u2028, "quotes", \\, </script>, \t, %41, &amp;; ';

/** The text of `DATA_BYTES` bytes that is sent. */
function difficultData(): string {
  const whole = DIFFICULT.repeat(Math.floor(DATA_BYTES / Buffer.byteLength(DIFFICULT)));
  return whole.padEnd(whole.length + DATA_BYTES - Buffer.byteLength(whole), '.');
}

/** Waits for an event that was triggered at `sentAtMs` of `performance.now()`. */
export async function checkDelivery(
  { conversation }: ClientSession,
  channel: string,
  sentAtMs: number,
  timeoutMs: number,
): Promise<Finding> {
  const received = await conversation.receives(named(HELLO, channel), timeoutMs);
  return received.kind === 'message'
    ? judgeLatency(Math.round(received.atMs - sentAtMs))
    : failed(
        `an event is accepted, but not received within ${timeoutMs / 1000} s`,
        `Either the HTTP API and the WebSocket reach different servers, or nodes that are not connected to each other (check the proxy, and the engine of a cluster: redis), or a proxy buffers WebSockets.\n${proxyAdvice('buffering')}`,
      );
}

/** Matches one event of a channel. */
export function named(name: string, channel: string): (message: ServerMessage) => boolean {
  return (message) => message.event === name && message.channel === channel;
}

/** Judges how long an event took. */
export function judgeLatency(latencyMs: number): Finding {
  return latencyMs <= SLOW_MS
    ? ok(`received ${latencyMs} ms after it was sent`)
    : warning(
        `received ${latencyMs} ms after it was sent, which is slow`,
        'The server is far away or overloaded, or something in between delays messages.',
      );
}

/** Checks that the data of an event arrives unchanged. */
export async function checkData(
  api: ApiClient,
  channel: string,
  { conversation }: ClientSession,
  timeoutMs: number,
): Promise<Finding> {
  const data = difficultData();
  const triggered = await api.trigger({ name: 'doctor-data', channel, data });
  if (!triggered.ok) return triggered.finding;
  const received = await conversation.receives(named('doctor-data', channel), timeoutMs);
  return received.kind === 'message'
    ? judgeData(data, received.message.data)
    : failed(
        `an event of ${DATA_BYTES} bytes is accepted, but not received`,
        'Small events arrive: something on the way limits the size of WebSocket messages. Raise that limit above 16 KB.',
      );
}

/** Compares what arrived with what was sent. */
export function judgeData(sent: string, arrived: unknown): Finding {
  if (arrived === sent)
    return ok(`${Buffer.byteLength(sent)} bytes with letters of many kinds arrive as sent`);
  if (typeof arrived !== 'string') {
    return failed(
      'the data of an event arrives as something else than the string that was sent',
      'Client libraries expect a string. This is a fault of the server.',
    );
  }
  let at = 0;
  while (arrived[at] === sent[at]) at++;
  const around = (text: string) =>
    JSON.stringify(excerpt(text.slice(Math.max(0, at - 8), at + 12)));
  return failed(
    `the data of an event arrives changed: from letter ${at} on, ${around(sent)} became ${around(arrived)}`,
    'Something on the way rewrites what passes (a firewall for web applications, a proxy that transcodes or filters text). Take it off /app/ and /apps/.',
  );
}

/**
 * The second connection must receive what the first one is excluded from. A marker that both receive ends the wait.
 */
export async function checkExclusion({
  api,
  channel,
  first,
  second,
  timeoutMs,
}: {
  readonly api: ApiClient;
  readonly channel: string;
  readonly first: ClientSession;
  readonly second: ClientSession;
  readonly timeoutMs: number;
}): Promise<Finding> {
  const joined = await checkSubscription(second.conversation, channel, timeoutMs);
  if (joined.result !== 'ok') return joined;
  const { socketId } = first.established;
  const excluded = await api.trigger({ name: 'doctor-excluded', channel, data: '{}', socketId });
  if (!excluded.ok) return excluded.finding;
  const there = await second.conversation.receives(named('doctor-excluded', channel), timeoutMs);
  if (there.kind !== 'message') {
    return failed(
      'an event with a socket_id is not received by the other connection',
      'Either it reached a node that the second connection is not known to (check the engine of the cluster), or the server drops such events.',
    );
  }
  const marker = await api.trigger({ name: 'doctor-marker', channel, data: '{}' });
  if (!marker.ok) return marker.finding;
  const here = await first.conversation.receives(named('doctor-marker', channel), timeoutMs);
  if (here.kind !== 'message') {
    return failed(
      'an event is accepted, but not received',
      'See "delivery": this time it got lost.',
    );
  }
  return first.conversation.hasHeard(named('doctor-excluded', channel))
    ? failed(
        'an event is received by the connection that its socket_id excludes',
        'People will see their own changes twice. Something drops socket_id from the body, or it is a fault of the server.',
      )
    : ok('an event with a socket_id is received by the others only');
}
