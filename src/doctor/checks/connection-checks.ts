import {
  errorOf,
  isConfirmation,
  isPong,
  PING_EVENT,
  ping,
  subscribe,
} from '../client/client-messages.ts';
import type { ClientSession } from '../client/client-session.ts';
import { awaitGreeting, shakeHands } from '../client/client-session.ts';
import type { Conversation } from '../client/conversation.ts';
import type { Destination } from '../client/link.ts';
import { proxyAdvice } from '../explain/proxy-advice.ts';
import { excerpt, type Finding, failed, ok, warning } from '../finding.ts';

/** Milliseconds for a round trip from which on people notice. */
const SLOW_MS = 1000;

/** Checks the timeouts that the server announces. Source: Channels protocol, §1.2. */
export function judgeActivityTimeout(seconds: number | undefined): Finding {
  if (seconds === undefined || seconds <= 0) {
    return failed(
      `the greeting has no usable activity_timeout (${seconds ?? 'none'})`,
      'pusher-js stops with an error without one. This is a fault of the server.',
    );
  }
  return ok(`clients ask after ${seconds} s of silence whether the server is there`);
}

export async function checkPusherPing(
  conversation: Conversation,
  timeoutMs: number,
): Promise<Finding> {
  const startMs = performance.now();
  conversation.send(ping);
  const received = await conversation.receives(isPong, timeoutMs);
  if (received.kind === 'message') {
    const tripMs = Math.round(received.atMs - startMs);
    return tripMs <= SLOW_MS
      ? ok(`answered in ${tripMs} ms`)
      : warning(
          `answered in ${tripMs} ms, which is slow`,
          'The server is far away or overloaded, or something in between delays messages.',
        );
  }
  return received.kind === 'ended'
    ? lost(conversation)
    : failed(
        `${PING_EVENT} is not answered within ${timeoutMs / 1000} s`,
        `Clients will reconnect again and again. Something holds messages back, or the server hangs.\n${proxyAdvice('buffering')}`,
      );
}

export async function checkWebSocketPing(
  conversation: Conversation,
  timeoutMs: number,
): Promise<Finding> {
  if (await conversation.ping(timeoutMs)) return ok('answered');
  return conversation.ending === undefined
    ? warning(
        'a ping of WebSocket itself is not answered',
        'The Swift client, and some proxies, take that for a dead connection. A proxy in between may swallow pings.',
      )
    : lost(conversation);
}

/** Subscribes, and waits for the confirmation. */
export async function checkSubscription(
  conversation: Conversation,
  channel: string,
  timeoutMs: number,
  auth?: string,
): Promise<Finding> {
  conversation.send(subscribe(channel, auth));
  const received = await conversation.receives(
    (message) => isConfirmation(message, channel) || errorOf(message) !== undefined,
    timeoutMs,
  );
  if (received.kind === 'ended') return lost(conversation);
  if (received.kind === 'nothing') {
    return failed(
      `the subscription to ${channel} is not confirmed within ${timeoutMs / 1000} s`,
      'Messages of clients do not reach the server, or its answers do not come back: check for a proxy that inspects or buffers WebSockets, and the log of the server.',
    );
  }
  const error = errorOf(received.message);
  if (error === undefined) return ok('the subscription is confirmed');
  const said = `"${excerpt(error.message, 80)}"${error.code === null ? '' : ` (${error.code})`}`;
  return auth === undefined
    ? failed(
        `the subscription is refused: ${said}`,
        'The text is the reason. A limit of the app on channels or names may forbid it.',
      )
    : failed(
        `the secret does not belong to the key: a private channel is refused with ${said}`,
        'Compare --secret with the one on the server (Fanfare: in its configuration, or by fanfare apps show ID --secret); look for a space or a line break copied with it.',
      );
}

/** Connects a second time. The caller disposes of the session. */
export async function checkSecondConnection(
  to: Destination,
  key: string,
  first: ClientSession,
  timeoutMs: number,
): Promise<{ readonly finding: Finding; readonly session?: ClientSession }> {
  const { finding, conversation } = await shakeHands(to, key, timeoutMs);
  if (conversation === undefined) return { finding };
  const greeting = await awaitGreeting(conversation, to, timeoutMs);
  const { established } = greeting;
  if (established === undefined) {
    conversation[Symbol.dispose]();
    return { finding: greeting.finding };
  }
  return {
    session: { conversation, established },
    finding:
      established.socketId === first.established.socketId
        ? failed(
            `two connections have the same socket id ${established.socketId}`,
            'Nodes of the server must not give the same ids: restart them one after the other, or report it as a fault of the server.',
          )
        : ok(`gets another socket id, ${established.socketId}`),
  };
}

/** Stays silent as a client does, asking only after `activityTimeoutSeconds`, and watches for a cut. */
export async function checkIdle(
  { conversation, established }: ClientSession,
  idleMs: number,
  timeoutMs: number,
): Promise<Finding> {
  const startMs = performance.now();
  const silenceMs = (established.activityTimeoutSeconds ?? 120) * 1000;
  for (;;) {
    const leftMs = idleMs - (performance.now() - startMs);
    if (leftMs <= 0 || conversation.ending !== undefined) break;
    // The pattern never matches: only the end of the connection ends this wait early.
    await conversation.receives(() => false, Math.min(leftMs, silenceMs));
    if (idleMs - (performance.now() - startMs) > 0 && conversation.ending === undefined) {
      const pinged = await checkPusherPing(conversation, timeoutMs);
      if (pinged.result === 'failed') return pinged;
    }
  }
  const seconds = Math.round((performance.now() - startMs) / 100) / 10;
  const { ending } = conversation;
  if (ending === undefined) {
    return ok(
      idleMs < 61_000
        ? `stays open for ${idleMs / 1000} s of silence; proxies often cut at 60: --idle 130 checks that`
        : `stays open for ${idleMs / 1000} s of silence`,
    );
  }
  const how =
    ending.code === 1006 ? 'without a word' : `with ${ending.code} "${excerpt(ending.reason)}"`;
  return failed(
    `the idle connection is closed after ${seconds} s, ${how}`,
    `A proxy cuts connections that are idle for a while. Set its timeout well above ${silenceMs / 1000} s, after which clients send a ping.\n${proxyAdvice('idle')}`,
  );
}

export async function checkClose(conversation: Conversation, timeoutMs: number): Promise<Finding> {
  if (conversation.ending !== undefined) return lost(conversation);
  const ending = await conversation.closes(timeoutMs);
  if (ending !== undefined && ending.code !== 1006)
    return ok(`the server answers with ${ending.code}`);
  return warning(
    ending === undefined
      ? `closing is not answered within ${timeoutMs / 1000} s`
      : 'the connection is cut instead of closed',
    'Clients wait for the answer until their own timeout. Usually a proxy causes this. It does no other harm.',
  );
}

function lost({ ending }: Conversation): Finding {
  const how =
    ending === undefined || ending.code === 1006
      ? ''
      : ` (${ending.code} "${excerpt(ending.reason)}")`;
  return failed(
    `the connection ends while it is in use${how}`,
    `Look at the logs of the server and of the proxy for this moment. A proxy with a very short idle timeout does this too.\n${proxyAdvice('idle')}`,
  );
}
