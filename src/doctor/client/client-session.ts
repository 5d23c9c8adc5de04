import { explainHandshake, explainSilence } from '../explain/explain-answer.ts';
import { explainCode } from '../explain/explain-close.ts';
import { answererOf, proxyAdvice } from '../explain/proxy-advice.ts';
import { excerpt, type Finding, failed, ok, warning } from '../finding.ts';
import {
  clientPath,
  type Established,
  errorOf,
  establishedOf,
  type ServerMessage,
} from './client-messages.ts';
import { askForWebSocket, Conversation, isAccepted } from './conversation.ts';
import { ask, type HttpAnswer, unopened } from './http-exchange.ts';
import { type Destination, Link } from './link.ts';

/** A connection that the server has greeted. */
export interface ClientSession {
  readonly conversation: Conversation;
  readonly established: Established;
}

/** The result of the WebSocket handshake. The caller disposes of the conversation. */
export interface Handshake {
  readonly finding: Finding;
  readonly conversation?: Conversation;
}

/** The result of waiting for the first message. */
export interface Greeting {
  readonly finding: Finding;
  readonly established?: Established;
}

/** Makes a WebSocket connection, or explains why there is none. */
export async function shakeHands(
  to: Destination,
  key: string,
  timeoutMs: number,
): Promise<Handshake> {
  const { endpoint } = to;
  const opened = await Link.open(to, 'all', timeoutMs);
  if (!opened.ok) return { finding: explainSilence(unopened(opened), endpoint, timeoutMs) };
  const { link } = opened;
  const target = clientPath(endpoint.prefix, key);
  const { result, expectedAccept } = await askForWebSocket(link, endpoint, target, timeoutMs);
  if (result.kind === 'answer' && result.status === 101 && isAccepted(result, expectedAccept)) {
    const by = answererOf(result.headers);
    return {
      finding: ok(`the handshake is accepted${by === '' ? '' : ` by ${by}`}`),
      conversation: new Conversation(link),
    };
  }
  link[Symbol.dispose]();
  if (result.kind !== 'answer') return { finding: explainSilence(result, endpoint, timeoutMs) };
  if (result.status === 101) {
    return {
      finding: failed(
        'the handshake is answered with a Sec-WebSocket-Accept that does not belong to it',
        `A proxy answers by itself, from a cache, or changes Sec-WebSocket-Key. Browsers refuse this.\n${proxyAdvice('upgrade', answererOf(result.headers))}`,
      ),
    };
  }
  const lost = await upgradeWasLost(to, key, result, timeoutMs);
  return { finding: explainHandshake(result, endpoint, lost) };
}

/** Whether the handshake was answered exactly like a request that asks for no WebSocket. */
async function upgradeWasLost(
  to: Destination,
  key: string,
  answer: HttpAnswer,
  timeoutMs: number,
): Promise<boolean> {
  if (answer.status !== 400) return false;
  const target = clientPath(to.endpoint.prefix, key);
  const plain = await ask(to, { method: 'GET', target }, timeoutMs);
  return plain.kind === 'answer' && plain.status === answer.status && plain.body === answer.body;
}

/** Waits for the first message, which must be the greeting, and judges it. Source: Channels protocol, §1.2. */
export async function awaitGreeting(
  conversation: Conversation,
  { endpoint }: Destination,
  timeoutMs: number,
): Promise<Greeting> {
  const startMs = performance.now();
  const received = await conversation.receives(() => true, timeoutMs);
  switch (received.kind) {
    case 'nothing':
      return {
        finding: failed(
          `the WebSocket opens, but nothing arrives on it within ${timeoutMs / 1000} s`,
          `A proxy buffers what the server sends, or does not pass it on (an antivirus or a firewall that inspects traffic does the same), or the server hangs.\n${proxyAdvice('buffering')}`,
        ),
      };
    case 'ended':
      return { finding: explainCode(received.ending.code, received.ending.reason, endpoint) };
    case 'message':
      return judgeGreeting(received.message, endpoint, received.atMs - startMs);
    default:
      return received satisfies never;
  }
}

/** Judges the first message of a connection, which must be the greeting. Source: Channels protocol, §1.2. */
export function judgeGreeting(
  message: ServerMessage,
  endpoint: Destination['endpoint'],
  afterMs: number,
): Greeting {
  const error = errorOf(message);
  if (error !== undefined) return { finding: explainCode(error.code, error.message, endpoint) };
  const established = establishedOf(message);
  if (established === undefined) {
    return {
      finding: failed(
        `the first message is not the greeting of this protocol: "${excerpt(message.event || String(message.data), 80)}"`,
        'Another WebSocket service answers at this path. Check the URL, and where the proxy forwards /app/ to.',
      ),
    };
  }
  if (!/^\d+\.\d+$/.test(established.socketId)) {
    return {
      finding: failed(
        `the socket id "${excerpt(established.socketId, 60)}" is not of the form 123.456`,
        'The server libraries refuse to sign for such an id. This is a fault of the server.',
      ),
      established,
    };
  }
  const detail = `greeted after ${Math.max(0, Math.round(afterMs))} ms as ${established.socketId}`;
  return {
    finding: established.asString
      ? ok(detail)
      : warning(
          `${detail}, but its data is an object`,
          'It should be a string of JSON; some client libraries read nothing else. This is a fault of the server.',
        ),
    established,
  };
}
