import { randomUUID } from 'node:crypto';
import { ERROR } from '../../outgoing/http2/frames.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { readJsonObject } from '../../runtime/json-object.ts';
import { type ServedRequest, type ServedSession, serveHttp2 } from '../http2-server.ts';
import { NotificationLog } from '../notification-log.ts';
import { type Act, Script } from '../script.ts';
import { makeSelfSigned } from '../self-signed.ts';
import { apnsFault, apnsStatuses } from './notification-check.ts';
import { ApnsTokenCheck, type KnownKey } from './token-check.ts';

export interface FakeApnsOptions {
  /** 0: any that is free. */
  readonly port?: number;
  readonly host?: string;
  /** Made anew where there is none; `null`: no TLS. */
  readonly certificate?: Certificate | null;
  /** Who may send; without it, whoever says that he may. */
  readonly keys?: readonly KnownKey[];
  /** Requests of one connection at a time; Apple has 1,000. */
  readonly streamsMax?: number;
  /** Whether a connection takes one request at a time until it has shown a good token, as Apple's do. */
  readonly startsWithOne?: boolean;
  /** Notifications that the journal keeps. */
  readonly entriesMax?: number;
  readonly nowMs?: () => number;
}

/** A notification that arrived. */
export interface ApnsArrival {
  readonly atMs: number;
  /** Of the device. */
  readonly token: string;
  /** With the pseudo-header fields, without `authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly payload: string;
  /** What it was answered with; `undefined`: nothing. */
  readonly status: number | undefined;
  readonly reason: string | undefined;
}

/** Apple's service on this machine: it looks at each notification as Apple does, and reaches nobody. */
export interface FakeApns extends AsyncDisposable {
  readonly origin: string;
  /** To be trusted by whoever connects, as PEM; `undefined`: it has no TLS. */
  readonly ca: string | undefined;
  /** What it has looked at. What it turned away is not in it. */
  readonly journal: NotificationLog<ApnsArrival>;
  /** Knows devices by their tokens. */
  readonly script: Script;
  readonly sessions: ReadonlySet<ServedSession>;
}

/** Source: push protocol, §8.1. */
const STREAMS_MAX = 1000;

const PATH = /^\/3\/device\/([^/?]*)$/;

const GOODBYE = '{"reason":"Shutdown"}';

export async function startFakeApns(options: FakeApnsOptions = {}): Promise<FakeApns> {
  const { host = '127.0.0.1', port = 0, streamsMax = STREAMS_MAX, nowMs = Date.now } = options;
  const certificate =
    options.certificate === undefined
      ? makeSelfSigned([...new Set(['localhost', '127.0.0.1', host])], nowMs())
      : options.certificate;
  const journal = new NotificationLog<ApnsArrival>(options.entriesMax);
  const script = new Script();
  const tokens = new ApnsTokenCheck(options.keys);
  const timers = new Set<NodeJS.Timeout>();

  const server = await serveHttp2({
    host,
    port,
    certificate: certificate ?? undefined,
    streamsMax: options.startsWithOne === true ? 1 : streamsMax,
    onRequest(request) {
      if (script.latencyMs === 0) return serve(request);
      const timer = setTimeout(() => {
        timers.delete(timer);
        serve(request);
      }, script.latencyMs);
      timers.add(timer);
    },
  });

  function serve(request: ServedRequest): void {
    const { session, id, fields } = request;
    // Given up by the client in the meantime, or not looked at because of a goodbye.
    if (!session.isOpen(id)) return;
    const [, token] = PATH.exec(fields.get(':path') ?? '') ?? [];
    const act = token === undefined ? undefined : script.take(token);
    switch (act?.act) {
      case undefined:
        return answer(request, token);
      case 'answer': {
        keep(request, token, act.status, reasonIn(act.body));
        return session.answer(id, act.status, act.fields ?? {}, act.body);
      }
      case 'hang':
        return keep(request, token, undefined, undefined);
      case 'reset':
        keep(request, token, undefined, undefined);
        return session.reset(id, ERROR.internalError);
      case 'cut':
        return session.cut();
      case 'turn-away':
        return session.reset(id, ERROR.refusedStream);
      case 'go-away':
        return session.goAway(id - 1, ERROR.noError, GOODBYE);
      default:
        return act satisfies never;
    }
  }

  function answer(request: ServedRequest, token: string | undefined): void {
    const { session, id, fields } = request;
    const who = tokens.fault(fields.get('authorization'), nowMs());
    const fault = who ?? apnsFault(request, token);
    const apnsId = fields.get('apns-id') ?? randomUUID();
    if (fault === undefined) {
      keep(request, token, 200, undefined);
      session.answer(id, 200, { 'apns-id': apnsId });
    } else {
      const status = apnsStatuses[fault];
      keep(request, token, status, fault);
      session.answer(id, status, { 'apns-id': apnsId }, JSON.stringify({ reason: fault }));
    }
    if (who === undefined && options.startsWithOne === true && !session.isKnown) {
      session.isKnown = true;
      session.announce(streamsMax);
    }
  }

  function keep(
    { fields, body }: ServedRequest,
    token = '',
    status: number | undefined,
    reason: string | undefined,
  ): void {
    const { authorization: _, ...shown } = Object.fromEntries(fields);
    const payload = body.toString();
    journal.add({ atMs: nowMs(), token, fields: shown, payload, status, reason });
  }

  return {
    origin: `${certificate === null ? 'http' : 'https'}://${host}:${server.port}`,
    ca: certificate?.cert,
    journal,
    script,
    sessions: server.sessions,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer);
      await server[Symbol.asyncDispose]();
    },
  };
}

/** An answer with a reason, as Apple writes it. */
export function apnsRefusal(
  status: number,
  reason: string,
  fields: Readonly<Record<string, string>> = {},
  timestampMs?: number,
): Act {
  const body = JSON.stringify({ reason, timestamp: timestampMs });
  return { act: 'answer', status, fields, body };
}

function reasonIn(body: string | undefined): string | undefined {
  const reason = readJsonObject(Buffer.from(body ?? ''))?.['reason'];
  return typeof reason === 'string' ? reason : undefined;
}
