import type { ApiClient } from '../client/api-client.ts';
import { errorOf, establishedOf, isConfirmation, subscribe } from '../client/client-messages.ts';
import {
  askPreflight,
  FallbackSession,
  type FallbackTransportName,
  type SessionOptions,
} from '../client/fallback-session.ts';
import type { HttpAnswer, HttpResult } from '../client/http-exchange.ts';
import type { ReceivedMessage } from '../client/inbox.ts';
import {
  describeAnswer,
  explainGateway,
  explainSilence,
  isHtml,
} from '../explain/explain-answer.ts';
import { explainCode } from '../explain/explain-close.ts';
import { proxyAdvice } from '../explain/proxy-advice.ts';
import { excerpt, type Finding, ok, warning } from '../finding.ts';
import { named, SLOW_MS } from './delivery-checks.ts';

/** The result for one transport. The caller disposes of the session. */
export interface ExaminedTransport {
  readonly finding: Finding;
  /** Only if everything arrived on it. */
  readonly session?: FallbackSession;
}

/** What to send over a session, and how. */
export interface FallbackSubject extends SessionOptions {
  readonly transport: FallbackTransportName;
  readonly channel: string;
  /** Triggers an event, if a backend may. */
  readonly api: ApiClient | undefined;
  /** `Server` and `Via` of answers on this way. */
  readonly answeredBy: string;
}

/** The event that is triggered over each transport. */
const EVENT = 'doctor-fallback';

const FIRST_MESSAGE = 'the first message';
const ANSWER = 'the answer to a message';

/** Asks as a browser does before each request of a page. Source: HTTP transports, §3. */
export async function checkPreflight(options: SessionOptions): Promise<Finding> {
  const asked = await askPreflight(options);
  if (asked.kind !== 'answer' || asked.status < 200 || asked.status > 299) {
    return asWarning(
      'pages in networks without WebSockets cannot connect',
      explainRefusal(asked, options),
    );
  }
  const origins = asked.headers.get('access-control-allow-origin');
  const headers = asked.headers.get('access-control-allow-headers') ?? '';
  return origins === '*' && /(?:^|[\s,])(?:content-type|\*)(?:$|[\s,])/i.test(headers)
    ? ok('pages of other sites may use the HTTP transports')
    : warning(
        `the answer to OPTIONS has no Access-Control-Allow-Origin: * or no Access-Control-Allow-Headers: content-type: ${describeAnswer(asked)}`,
        'Browsers send nothing after it. Let the proxy pass OPTIONS requests for /pusher/app/ on, and neither answer them itself nor change the headers of answers.',
      );
}

/** Opens a session, subscribes, and waits for an event, as a client does whose network lets no WebSocket through. */
export async function checkFallback(subject: FallbackSubject): Promise<ExaminedTransport> {
  const { transport, timeoutMs } = subject;
  using cleanup = new DisposableStack();
  const startMs = performance.now();
  const session = cleanup.use(FallbackSession.begin(transport, subject));
  const first = await session.receives(() => true, timeoutMs);
  if (first.kind !== 'message')
    return { finding: await explain(first, FIRST_MESSAGE, session, subject) };
  const error = errorOf(first.message);
  if (error !== undefined) return { finding: explainClose(error.code, error.message, subject) };
  if (establishedOf(first.message) === undefined) {
    return {
      finding: warning(
        `${transport} opens, but not with the greeting of this protocol: "${excerpt(first.message.event || String(first.message.data), 80)}"`,
        'Another service answers at this path. Check where the proxy forwards /pusher/app/ to.',
      ),
    };
  }

  const saidMs = performance.now();
  await session.send(subscribe(subject.channel));
  const confirmed = await session.receives(
    (message) => isConfirmation(message, subject.channel) || errorOf(message) !== undefined,
    timeoutMs,
  );
  if (confirmed.kind !== 'message') {
    return { finding: await explain(confirmed, ANSWER, session, subject) };
  }
  let arrived = { what: ANSWER, ms: confirmed.atMs - saidMs };
  if (subject.api !== undefined) {
    const event = { name: EVENT, channel: subject.channel, data: '{}' };
    const triggered = await subject.api.trigger(event);
    if (!triggered.ok) return { finding: triggered.finding };
    const received = await session.receives(named(EVENT, subject.channel), timeoutMs);
    if (received.kind !== 'message')
      return { finding: await explain(received, 'an event', session, subject) };
    arrived = { what: 'an event', ms: received.atMs - triggered.sentAtMs };
  }
  cleanup.move();
  return { session, finding: judgeArrival(arrived, first.atMs - startMs, subject) };
}

/** Judges sessions that have been silent for a while. */
export function judgeSilence(
  sessions: readonly Pick<FallbackSession, 'ending'>[],
  idleMs: number,
): Finding {
  if (sessions.every(({ ending }) => ending === undefined)) {
    return ok(`requests stay open for ${idleMs / 1000} s of silence`);
  }
  return warning(
    `a request over which nothing is said is cut within ${idleMs / 1000} s`,
    `Clients reconnect again and again, and miss events in between. A healthy server sends something every 25 s: raise the timeout of the proxy above that.\n${proxyAdvice('held')}`,
  );
}

/** Judges how long a session took to open, and something to arrive on it. */
export function judgeArrival(
  { what, ms }: { what: string; ms: number },
  openedMs: number,
  { transport, answeredBy }: Pick<FallbackSubject, 'transport' | 'answeredBy'>,
): Finding {
  const times = `opens after ${Math.round(openedMs)} ms, and ${what} arrives after ${Math.round(ms)} ms`;
  return ms <= SLOW_MS && openedMs <= SLOW_MS
    ? ok(times)
    : warning(
        `${transport} ${times}, which is slow`,
        `The server is far away or overloaded, or something in between delays answers.\n${proxyAdvice('stream', answeredBy)}`,
      );
}

/** Explains why something did not arrive. */
async function explain(
  received: Exclude<ReceivedMessage, { kind: 'message' }>,
  what: string,
  session: FallbackSession,
  subject: FallbackSubject,
): Promise<Finding> {
  const { transport, answeredBy } = subject;
  const { refusal } = session;
  const wasOpen = what !== FIRST_MESSAGE;
  if (refusal !== undefined && !(wasOpen && refusal.kind === 'nothing')) {
    return asWarning(`${transport} does not work`, explainRefusal(refusal, subject));
  }
  if (received.kind === 'nothing') return await explainNothing(what, session, subject);
  const { code, reason } = received.ending;
  return code === 1006
    ? warning(
        `${transport} is cut before ${what} arrives`,
        `A proxy or a firewall ends the answer before the server does. Let it wait for at least 60 s, and not bound how long an answer takes.\n${proxyAdvice('held', answeredBy)}`,
      )
    : explainClose(code, reason, subject);
}

/** Explains a missing answer, by asking the server whether it has the session. */
async function explainNothing(
  what: string,
  session: FallbackSession,
  { transport, timeoutMs, answeredBy, to }: FallbackSubject,
): Promise<Finding> {
  const seconds = timeoutMs / 1000;
  const sent = await session.send();
  const isOpen = sent.kind === 'answer' && sent.status >= 200 && sent.status < 300;
  if (!isOpen) {
    const answer = sent.kind === 'answer' ? describeAnswer(sent) : 'nothing';
    return warning(
      `${transport}: ${what} does not arrive within ${seconds} s, and what clients send is answered with ${answer}`,
      `The requests of one client reach different servers, or not the server at all. Check where the proxy forwards ${to.endpoint.prefix}/pusher/app/ to.`,
    );
  }
  if (transport === 'xhr_polling') {
    return warning(
      `${transport}: ${what} does not arrive within ${seconds} s`,
      'The server has the session, but its answers do not come back. Look at the logs of the server and of the proxy.',
    );
  }
  const comesAtEnd = await session.takesOver(timeoutMs);
  return warning(
    `${transport} is buffered: the server has the session, but ${what} does not arrive within ${seconds} s${comesAtEnd ? '; it arrives when the answer ends' : ''}`,
    `pusher-js waits for 4 s and then uses xhr_polling. Something on the way collects or compresses the answer: a proxy, a CDN, an antivirus.\n${proxyAdvice('stream', answeredBy)}`,
  );
}

function explainRefusal(refusal: HttpResult, { to, timeoutMs }: SessionOptions): Finding {
  const { endpoint } = to;
  if (refusal.kind !== 'answer') return explainSilence(refusal, endpoint, timeoutMs);
  return explainGateway(refusal) ?? explainStatus(refusal, endpoint.prefix);
}

function explainStatus(answer: HttpAnswer, prefix: string): Finding {
  const said = describeAnswer(answer);
  const path = `${prefix}/pusher/app/`;
  if (answer.status === 404 && !isHtml(answer)) {
    return warning(
      `there is no ${path}: ${said}`,
      `The server does not serve the HTTP transports, or the proxy does not forward ${path} to it. If the server is mounted under a path, put that into --url.`,
    );
  }
  return warning(
    `something on the way refuses it: ${said}`,
    `Let the proxy pass POST and OPTIONS for ${path} on to the server, as it does for ${prefix}/app/.`,
  );
}

function explainClose(
  code: number | null,
  reason: string,
  { transport, to }: FallbackSubject,
): Finding {
  return asWarning(`${transport} is refused`, explainCode(code, reason, to.endpoint));
}

/** Clients with WebSockets need none of this, so the examination as a whole has not failed. */
function asWarning(what: string, finding: Finding): Finding {
  return warning(`${what}: ${finding.detail}`, 'advice' in finding ? finding.advice : '');
}
