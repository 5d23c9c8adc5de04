import { randomUUID } from 'node:crypto';
import { localHosts, makeSelfSigned } from '../../certificates/self-signed.ts';
import { Recent } from '../../runtime/recent.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type { Http2ServedRequest, ServedSession } from '../http2-server.ts';
import {
  type NotificationAnswer,
  type NotificationServer,
  serveNotifications,
} from '../notification-server.ts';
import type { Act } from '../script.ts';
import { channelStatuses, FakeChannels } from './channels.ts';
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

/** A fake of Apple's service: it checks each notification as Apple does, and delivers nothing. */
export interface FakeApns extends NotificationServer {
  /** The certificate that clients must trust, as PEM; `undefined`: no TLS. */
  readonly ca: string | undefined;
}

/** Source: push protocol, §8.1. */
const STREAMS_MAX = 1000;

/** Tokens whose topic is remembered. */
const TOKENS_MAX = 100_000;

/** Broadcasts, and the management of channels, which Apple has at another host. */
const CHANNEL_PATH =
  /^\/(4\/broadcasts\/apps|1\/apps(?=\/[^/?]+\/channels$))\/([^/?]+)(?:\/channels)?$/;

const PATH = /^\/3\/device\/([^/?]*)$/;

export async function startFakeApns(options: FakeApnsOptions = {}): Promise<FakeApns> {
  const { host = '127.0.0.1', port = 0, streamsMax = STREAMS_MAX, nowMs = Date.now } = options;
  const certificate =
    options.certificate === undefined
      ? makeSelfSigned(localHosts(host), nowMs())
      : options.certificate;
  const tokens = new ApnsTokenCheck(options.keys);
  const authenticated = new WeakSet<ServedSession>();
  const topics = new Recent<string, string>(TOKENS_MAX);
  const channels = new FakeChannels();

  const server = await serveNotifications({
    host,
    port,
    certificate: certificate ?? undefined,
    streamsMax: options.startsWithOne === true ? 1 : streamsMax,
    entriesMax: options.entriesMax,
    nowMs,
    read(request) {
      const path = request.fields.get(':path') ?? '';
      const [, kind, bundleId = ''] = CHANNEL_PATH.exec(path) ?? [];
      if (kind !== undefined) {
        const isBroadcast = kind.startsWith('4');
        // Scripts name a channel, or the app whose channels are created and deleted.
        const token = isBroadcast ? request.fields.get('apns-channel-id') : bundleId;
        return { token, answer: () => answerOfChannel(request, { bundleId, isBroadcast }) };
      }
      const [, token] = PATH.exec(path) ?? [];
      return { token, answer: () => answer(request, token) };
    },
    reasonIn: ({ reason }) => reason,
    goAwayText: '{"reason":"Shutdown"}',
  });

  function answer(request: Http2ServedRequest, token: string | undefined): NotificationAnswer {
    const { session, fields: sent } = request;
    const tokenFault = tokens.fault(sent.get('authorization'), nowMs());
    if (tokenFault === undefined && options.startsWithOne === true && !authenticated.has(session)) {
      authenticated.add(session);
      session.announce(streamsMax);
    }
    const reason = tokenFault ?? apnsFault(request, token) ?? topicFault(sent, token);
    const fields = { 'apns-id': sent.get('apns-id') ?? randomUUID() };
    return reason === undefined
      ? { status: 200, fields }
      : refusal(apnsStatuses[reason], reason, fields);
  }

  function answerOfChannel(
    request: Http2ServedRequest,
    { bundleId, isBroadcast }: { readonly bundleId: string; readonly isBroadcast: boolean },
  ): NotificationAnswer {
    const { fields: sent } = request;
    const fields = { 'apns-request-id': sent.get('apns-request-id') ?? randomUUID() };
    const tokenFault = tokens.fault(sent.get('authorization'), nowMs());
    if (tokenFault !== undefined) return refusal(apnsStatuses[tokenFault], tokenFault, fields);
    const answered = isBroadcast
      ? channels.broadcast(bundleId, request)
      : channels.manage(bundleId, request);
    if ('fault' in answered) {
      return refusal(channelStatuses[answered.fault], answered.fault, fields);
    }
    const { status, channel } = answered;
    return {
      status,
      fields: channel === undefined ? fields : { ...fields, 'apns-channel-id': channel },
    };
  }

  /** A token belongs to one topic: the first that was sent to it. */
  function topicFault(
    sent: ReadonlyMap<string, string>,
    token = '',
  ): 'DeviceTokenNotForTopic' | undefined {
    const topic = sent.get('apns-topic') ?? '';
    const first = topics.get(token);
    if (first === undefined) topics.set(token, topic);
    return first === undefined || first === topic ? undefined : 'DeviceTokenNotForTopic';
  }

  return { ...server, ca: certificate?.cert };
}

function refusal(
  status: number,
  reason: string,
  fields: Readonly<Record<string, string>>,
): NotificationAnswer {
  return { status, fields, body: JSON.stringify({ reason }), reason };
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
