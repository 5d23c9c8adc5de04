import { randomUUID } from 'node:crypto';
import type { Certificate } from '../../runtime/certificate.ts';
import { readJsonObject } from '../../runtime/json-object.ts';
import { type ServedRequest, type ServedSession, serveHttp2 } from '../http2-server.ts';
import { NotificationLog } from '../notification-log.ts';
import { type Act, Delays, perform, Script } from '../script.ts';
import { localHosts, makeSelfSigned } from '../self-signed.ts';
import { apnsFault, apnsStatuses } from './notification-check.ts';
import { ApnsTokenCheck, type KnownKey } from './token-check.ts';

export interface FakeApnsOptions {
  /** 0: any free port. */
  readonly port?: number;
  readonly host?: string;
  /** A new one by default; `null`: no TLS. */
  readonly certificate?: Certificate | null;
  /** Keys that may send; without it, any signature is accepted. */
  readonly keys?: readonly KnownKey[];
  /** Concurrent requests of one connection; Apple allows 1,000. */
  readonly streamsMax?: number;
  /** Whether a connection allows one request at a time until it has shown a valid token, as Apple's do. */
  readonly startsWithOne?: boolean;
  /** Notifications that the log keeps. */
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
  /** Status of the answer; `undefined`: none. */
  readonly status: number | undefined;
  readonly reason: string | undefined;
}

/** A fake of Apple's service: it checks each notification as Apple does, and delivers nothing. */
export interface FakeApns extends AsyncDisposable {
  readonly origin: string;
  /** The certificate that clients must trust, as PEM; `undefined`: no TLS. */
  readonly ca: string | undefined;
  /** What it has checked. Refused streams are not in it. */
  readonly arrivals: NotificationLog<ApnsArrival>;
  /** By device token. */
  readonly script: Script;
  readonly sessions: ReadonlySet<ServedSession>;
}

/** Source: push protocol, §8.1. */
const STREAMS_MAX = 1000;

const PATH = /^\/3\/device\/([^/?]*)$/;

const GO_AWAY_TEXT = '{"reason":"Shutdown"}';

export async function startFakeApns(options: FakeApnsOptions = {}): Promise<FakeApns> {
  const { host = '127.0.0.1', port = 0, streamsMax = STREAMS_MAX, nowMs = Date.now } = options;
  const certificate =
    options.certificate === undefined
      ? makeSelfSigned(localHosts(host), nowMs())
      : options.certificate;
  const arrivals = new NotificationLog<ApnsArrival>(options.entriesMax);
  const script = new Script();
  const tokens = new ApnsTokenCheck(options.keys);
  const delays = new Delays();

  const server = await serveHttp2({
    host,
    port,
    certificate: certificate ?? undefined,
    streamsMax: options.startsWithOne === true ? 1 : streamsMax,
    onRequest: (request) => delays.after(script, () => serve(request)),
  });

  function serve(request: ServedRequest): void {
    // Given up by the client in the meantime, or ignored after GOAWAY.
    if (!request.session.isOpen(request.id)) return;
    const [, token] = PATH.exec(request.fields.get(':path') ?? '') ?? [];
    const act = token === undefined ? undefined : script.take(token);
    if (act === undefined) return answer(request, token);
    perform(act, request, {
      record: (status, body) => record(request, token, status, reasonIn(body)),
      goAwayText: GO_AWAY_TEXT,
    });
  }

  function answer(request: ServedRequest, token: string | undefined): void {
    const { session, id, fields } = request;
    const who = tokens.fault(fields.get('authorization'), nowMs());
    const fault = who ?? apnsFault(request, token);
    const apnsId = fields.get('apns-id') ?? randomUUID();
    if (fault === undefined) {
      record(request, token, 200, undefined);
      session.answer(id, 200, { 'apns-id': apnsId });
    } else {
      const status = apnsStatuses[fault];
      record(request, token, status, fault);
      session.answer(id, status, { 'apns-id': apnsId }, JSON.stringify({ reason: fault }));
    }
    if (who === undefined && options.startsWithOne === true && !session.isKnown) {
      session.isKnown = true;
      session.announce(streamsMax);
    }
  }

  function record(
    { fields, body }: ServedRequest,
    token = '',
    status: number | undefined,
    reason: string | undefined,
  ): void {
    const { authorization: _, ...shown } = Object.fromEntries(fields);
    const payload = body.toString();
    arrivals.add({ atMs: nowMs(), token, fields: shown, payload, status, reason });
  }

  return {
    origin: `${certificate === null ? 'http' : 'https'}://${host}:${server.port}`,
    ca: certificate?.cert,
    arrivals,
    script,
    sessions: server.sessions,
    async [Symbol.asyncDispose]() {
      delays[Symbol.dispose]();
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
