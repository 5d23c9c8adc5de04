import type { CheckName } from './check-names.ts';
import { checkAuthorization } from './checks/authorization-checks.ts';
import {
  checkLargeBody,
  checkLargeHeader,
  judgeChannels,
  judgeTrigger,
} from './checks/call-checks.ts';
import { judgeClock } from './checks/clock-skew.ts';
import {
  checkClose,
  checkIdle,
  checkPusherPing,
  checkSecondConnection,
  checkSubscription,
  checkWebSocketPing,
  judgeActivityTimeout,
} from './checks/connection-checks.ts';
import { checkData, checkDelivery, checkExclusion, HELLO } from './checks/delivery-checks.ts';
import { checkFallback, checkPreflight, judgeSilence } from './checks/fallback-checks.ts';
import { checkFirstAnswer, isRedirect, judgeRedirect, judgeReuse } from './checks/http-checks.ts';
import { ApiClient } from './client/api-client.ts';
import { awaitGreeting, type ClientSession, shakeHands } from './client/client-session.ts';
import type { FallbackTransportName, SessionOptions } from './client/fallback-session.ts';
import { exchange, type HttpRequest } from './client/http-exchange.ts';
import type { Destination } from './client/link.ts';
import { acceptsTls, checkName, checkTcp, checkTls } from './client/reach.ts';
import { channelAuth } from './client/signed-request.ts';
import type { Examination, NetworkRoute } from './examination.ts';
import { answererOf } from './explain/proxy-advice.ts';
import { type Finding, failed, ok } from './finding.ts';
import {
  addressOf,
  isHosted,
  parseTarget,
  sameEndpoint,
  type Target,
  type TargetAddress,
} from './target.ts';

/** What an app is asked to authorise if the server has given no socket id. */
const ANY_SOCKET_ID = '123456.123456';

/** One check. */
export interface Check {
  readonly name: CheckName;
  /** Checks that must not have failed or been skipped. */
  readonly needs?: readonly CheckName[];
  /** Another reason not to make this check. */
  skip?(examination: Examination): string | undefined;
  run(examination: Examination): Promise<Finding> | Finding;
}

/** Every check, in the order in which things can go wrong. */
export const checks: readonly Check[] = [
  { name: 'url', run: checkUrl },
  ...reachChecks(
    ['dns', 'tcp', 'tls'],
    (e) => e.clientRoute,
    (target) => target.websocket,
  ),
  ...reachChecks(
    ['api-dns', 'api-tcp', 'api-tls'],
    (e) => e.apiRoute,
    (target) => target.api,
  ).map(
    (check): Check => ({
      ...check,
      skip: (e) => (e.isOneEndpoint ? 'the HTTP API has the same address' : check.skip?.(e)),
    }),
  ),
  {
    name: 'http',
    needs: ['url'],
    skip: (e) => (apiDestination(e) === undefined ? unreachable(e) : undefined),
    async run(e) {
      const to = found(apiDestination(e));
      const { finding, answer, link } = await checkFirstAnswer(
        to,
        plainRequest(e, to),
        e.timeoutMs,
      );
      if (link !== undefined) e.closesAtEnd(link);
      e.answer = answer;
      e.link = link;
      return finding;
    },
  },
  { name: 'redirect', skip: unanswered, run: (e) => judgeRedirect(found(e.answer)) },
  {
    name: 'clock',
    skip: unanswered,
    run: (e) => judgeClock(found(e.answer).headers.get('date'), Date.now()),
  },
  {
    name: 'keep-alive',
    needs: ['redirect'],
    async run(e) {
      const request = plainRequest(e, found(apiDestination(e)));
      return judgeReuse(found(e.answer), await exchange(found(e.link), request, e.timeoutMs));
    },
  },
  {
    name: 'websocket',
    needs: ['url'],
    skip: unreachedByClients,
    async run(e) {
      const to = found(e.clientRoute.destination);
      const { finding, conversation } = await shakeHands(to, e.subject.key, e.timeoutMs);
      if (conversation !== undefined) e.closesAtEnd(conversation);
      e.conversation = conversation;
      return finding;
    },
  },
  {
    name: 'first-message',
    needs: ['websocket'],
    async run(e) {
      const [conversation, to] = [found(e.conversation), found(e.clientRoute.destination)];
      const { finding, established } = await awaitGreeting(conversation, to, e.timeoutMs);
      if (established !== undefined) e.first = { conversation, established };
      return finding;
    },
  },
  {
    name: 'activity-timeout',
    skip: ungreeted,
    run: (e) => judgeActivityTimeout(first(e).established.activityTimeoutSeconds),
  },
  {
    name: 'pusher-ping',
    skip: ungreeted,
    run: (e) => checkPusherPing(first(e).conversation, e.timeoutMs),
  },
  {
    name: 'websocket-ping',
    skip: ungreeted,
    run: (e) => checkWebSocketPing(first(e).conversation, e.timeoutMs),
  },
  {
    name: 'second-connection',
    skip: ungreeted,
    async run(e) {
      const to = found(e.clientRoute.destination);
      const again = await checkSecondConnection(to, e.subject.key, first(e), e.timeoutMs);
      e.second = again.session;
      if (again.session !== undefined) e.closesAtEnd(again.session.conversation);
      return again.finding;
    },
  },
  {
    name: 'public-channel',
    skip: ungreeted,
    run: (e) => checkSubscription(first(e).conversation, e.channel, e.timeoutMs),
  },
  {
    name: 'private-channel',
    skip: (e) => ungreeted(e) ?? (e.subject.secret === undefined ? 'it needs --secret' : undefined),
    run(e) {
      const { conversation, established } = first(e);
      const channel = `private-${e.channel}`;
      const secret = found(e.subject.secret);
      const auth = channelAuth(e.subject.key, secret, established.socketId, channel);
      return checkSubscription(conversation, channel, e.timeoutMs, auth);
    },
  },
  {
    name: 'auth-endpoint',
    skip: (e) => (e.subject.authorization === undefined ? 'it needs --auth-endpoint' : undefined),
    run(e) {
      const { authorization, key, secret, manner } = e.subject;
      const { channel = `private-${e.channel}` } = found(authorization);
      const asked = {
        socketId: e.first?.established.socketId ?? ANY_SOCKET_ID,
        channel,
        isExpected: authorization?.channel !== undefined,
        key,
        secret,
      };
      return checkAuthorization(found(authorization), asked, manner);
    },
  },
  {
    name: 'signed-request',
    needs: ['url'],
    skip(e) {
      if (apiDestination(e) === undefined) return unreachable(e);
      if (e.isOneEndpoint && e.answer !== undefined && isRedirect(e.answer)) {
        return 'because "redirect" failed';
      }
      const { secret, appId } = e.subject;
      const isSigned = secret !== undefined && appId !== undefined;
      return isSigned ? undefined : 'it needs --secret and --app-id';
    },
    async run(e) {
      const { key } = e.subject;
      const credentials = { key, secret: found(e.subject.secret), appId: found(e.subject.appId) };
      const keyIsKnown = e.first !== undefined;
      const to = found(apiDestination(e));
      e.api = new ApiClient({ to, credentials, keyIsKnown, timeoutMs: e.timeoutMs });
      return judgeChannels(await e.api.channels());
    },
  },
  {
    name: 'trigger',
    needs: ['signed-request'],
    async run(e) {
      const event = { name: HELLO, channel: e.channel, data: '{"hello":"world"}' };
      e.triggered = await found(e.api).trigger(event);
      return judgeTrigger(e.triggered);
    },
  },
  {
    name: 'delivery',
    needs: ['trigger'],
    skip: (e) =>
      e.report.of('public-channel')?.result === 'ok' ? undefined : 'nobody could subscribe',
    run(e) {
      const { triggered } = e;
      const sentAtMs = triggered?.ok === true ? triggered.sentAtMs : performance.now();
      return checkDelivery(first(e), e.channel, sentAtMs, e.timeoutMs);
    },
  },
  {
    name: 'unchanged-data',
    needs: ['delivery'],
    run: (e) => checkData(found(e.api), e.channel, first(e), e.timeoutMs),
  },
  {
    name: 'excluded-connection',
    needs: ['delivery'],
    skip: (e) =>
      e.second === undefined ? 'there is no second connection to compare with' : undefined,
    run: (e) =>
      checkExclusion({
        api: found(e.api),
        channel: e.channel,
        first: first(e),
        second: found(e.second),
        timeoutMs: e.timeoutMs,
      }),
  },
  { name: 'large-header', needs: ['signed-request'], run: (e) => checkLargeHeader(found(e.api)) },
  {
    name: 'large-body',
    needs: ['signed-request'],
    run: (e) => checkLargeBody(found(e.api), `${e.channel}-large`),
  },
  {
    name: 'xhr-preflight',
    needs: ['url'],
    skip: (e) =>
      isHosted(found(e.target).websocket)
        ? 'the hosted service has another host for HTTP transports'
        : unreachedByClients(e),
    run: (e) => checkPreflight(sessionOptions(e)),
  },
  fallbackCheck('xhr-streaming', 'xhr_streaming'),
  fallbackCheck('xhr-polling', 'xhr_polling'),
  {
    name: 'idle',
    skip: (e) => ungreeted(e) ?? (e.subject.idleMs > 0 ? undefined : '--idle is 0'),
    run: (e) => checkIdle(first(e), e.subject.idleMs, e.timeoutMs),
  },
  {
    name: 'xhr-idle',
    needs: ['idle'],
    skip: (e) => (e.fallbacks.length > 0 ? undefined : 'no HTTP transport works'),
    run: (e) => judgeSilence(e.fallbacks, e.subject.idleMs),
  },
  {
    name: 'close',
    skip: ungreeted,
    run: (e) => checkClose(first(e).conversation, e.timeoutMs),
  },
];

function checkUrl(e: Examination): Finding {
  const parsed = parseTarget(e.subject.url, e.subject.apiUrl);
  if (!parsed.ok) return failed(parsed.detail, parsed.advice);
  const { websocket, api } = parsed.target;
  e.target = parsed.target;
  e.isOneEndpoint = sameEndpoint(websocket, api);
  const address = addressOf(api);
  return ok(e.isOneEndpoint ? address : `${addressOf(websocket)} and, for backends, ${address}`);
}

/** Name, TCP and TLS of one endpoint. */
function reachChecks(
  [dns, tcp, tls]: readonly [CheckName, CheckName, CheckName],
  routeOf: (examination: Examination) => NetworkRoute,
  endpointOf: (target: Target) => TargetAddress,
): readonly Check[] {
  const endpoint = (e: Examination) => endpointOf(found(e.target));
  return [
    {
      name: dns,
      needs: ['url'],
      async run(e) {
        const { finding, found: addresses } = await checkName(endpoint(e), e.subject.manner);
        routeOf(e).addresses = addresses;
        return finding;
      },
    },
    {
      name: tcp,
      needs: [dns],
      async run(e) {
        const route = routeOf(e);
        const { finding, destination } = await checkTcp(
          endpoint(e),
          route.addresses,
          e.subject.manner,
        );
        if (destination !== undefined) route.open = destination;
        return finding;
      },
    },
    {
      name: tls,
      needs: [tcp],
      async run(e) {
        const [route, { manner }] = [routeOf(e), e.subject];
        const open = found(route.open);
        const finding = await checkTls(open, manner);
        // `--insecure` accepts a certificate, but there must be a handshake.
        const goesOn =
          finding.result !== 'failed' || (manner.insecure && (await acceptsTls(open, manner)));
        if (goesOn) route.destination = open;
        return finding;
      },
    },
  ];
}

/** One of the HTTP transports. Its session stays open for the check of silence. */
function fallbackCheck(name: CheckName, transport: FallbackTransportName): Check {
  return {
    name,
    needs: ['xhr-preflight'],
    skip: (e) =>
      e.report.of('xhr-preflight')?.result === 'ok'
        ? undefined
        : 'browsers would not get past "xhr-preflight"',
    async run(e) {
      const { finding, session } = await checkFallback({
        ...sessionOptions(e),
        transport,
        channel: `${e.channel}-${name}`,
        api: e.triggered?.ok === true ? e.api : undefined,
        answeredBy: e.isOneEndpoint && e.answer !== undefined ? answererOf(e.answer.headers) : '',
      });
      if (session !== undefined) {
        e.fallbacks.push(session);
        e.closesAtEnd(session);
      }
      return finding;
    },
  };
}

function sessionOptions({ clientRoute, subject, timeoutMs }: Examination): SessionOptions {
  return { to: found(clientRoute.destination), key: subject.key, timeoutMs };
}

function unreachedByClients(e: Examination): string | undefined {
  // The same endpoint would redirect other requests too.
  if (e.isOneEndpoint && e.answer !== undefined && isRedirect(e.answer)) {
    return 'because "redirect" failed';
  }
  return e.clientRoute.destination === undefined ? unreachable(e) : undefined;
}

function apiDestination({ isOneEndpoint, clientRoute, apiRoute }: Examination) {
  return (isOneEndpoint ? clientRoute : apiRoute).destination;
}

function plainRequest({ subject }: Examination, { endpoint }: Destination): HttpRequest {
  return {
    method: 'GET',
    target: `${endpoint.prefix}/apps/${encodeURIComponent(subject.appId ?? '0')}/channels`,
    host: endpoint.host,
  };
}

/** Why an endpoint was not reached: the first check that failed. */
function unreachable({ report }: Examination): string {
  return `because "${report.firstFailed ?? 'url'}" failed`;
}

function unanswered(e: Examination): string | undefined {
  return e.answer === undefined ? unreachable(e) : undefined;
}

function ungreeted(e: Examination): string | undefined {
  return e.first === undefined ? unreachable(e) : undefined;
}

function first(e: Examination): ClientSession {
  return found(e.first);
}

/** What an earlier check has found: `needs` and `skip` guarantee it. */
function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('A check was made without what it needs');
  return value;
}
