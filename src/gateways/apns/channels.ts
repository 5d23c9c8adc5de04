import { Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { FindAddresses } from '../../outgoing/http2/connecting/addresses.ts';
import { type HeaderField, plainField } from '../../outgoing/http2/hpack/header-field.ts';
import { fieldOf, type Http2Result } from '../../outgoing/http2/request.ts';
import type {
  BroadcastChannels,
  ChannelAnswer,
  ChannelStorage,
} from '../../push/broadcast-channels.ts';
import { CHANNEL_ID } from '../../push/model/token-kind.ts';
import { readJsonObject } from '../../runtime/json-object.ts';
import type { ApnsEnvironment } from './environments.ts';
import type { ProviderToken } from './provider-token.ts';

/** Where Apple's channels are created and deleted. Source: Apple, "Sending channel management requests to APNs". */
const origins: Readonly<Record<ApnsEnvironment, string>> = {
  production: 'https://api-manage-broadcast.push.apple.com:2196',
  sandbox: 'https://api-manage-broadcast.sandbox.push.apple.com:2195',
};

/** Backends create a channel for an event that many watch, so few at a time. */
const STREAMS_MAX = 10;
const WAITING_MAX = 100;
const REQUEST_TIMEOUT_MS = 15_000;
const IDLE_CLOSE_MS = 60_000;

export interface ApnsChannelsOptions {
  readonly environment: ApnsEnvironment;
  /** In place of Apple's. */
  readonly origin: string | undefined;
  readonly ca: string | undefined;
  readonly token: ProviderToken;
  readonly nowMs: () => number;
  readonly findAddresses: FindAddresses;
  readonly onEvent: (event: Http2Event) => void;
}

/** Creates and deletes the broadcast channels of the apps of one instance. Connects when it is first asked. */
export class ApnsChannels implements BroadcastChannels, AsyncDisposable {
  private readonly options: ApnsChannelsOptions;
  private client: Http2Client | undefined;

  constructor(options: ApnsChannelsOptions) {
    this.options = options;
  }

  async create(bundleId: string, storage: ChannelStorage): Promise<ChannelAnswer<string>> {
    const policy = storage === 'latest' ? 1 : 0;
    const body = JSON.stringify({ 'message-storage-policy': policy, 'push-type': 'LiveActivity' });
    const result = await this.ask({ bundleId, fields: [], body });
    const refused = refusalIn(result, 201);
    if (refused !== undefined) return refused;
    const channel = result.result === 'answered' ? fieldOf(result.fields, CHANNEL_FIELD) : '';
    return channel !== undefined && CHANNEL_ID.test(channel)
      ? { result: 'done', value: channel }
      : { result: 'refused', why: 'no-channel-id' };
  }

  async delete(bundleId: string, channel: string): Promise<ChannelAnswer<undefined>> {
    const fields = [plainField(CHANNEL_FIELD, channel)];
    const result = await this.ask({ bundleId, fields, body: '', method: 'DELETE' });
    const refused = refusalIn(result, 204);
    // It is gone already, as it was to be.
    const isGone = refused?.why === 'ChannelNotRegistered';
    return refused === undefined || isGone ? { result: 'done', value: undefined } : refused;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client?.[Symbol.asyncDispose]();
  }

  private ask(request: {
    readonly bundleId: string;
    readonly fields: readonly HeaderField[];
    readonly body: string;
    readonly method?: 'DELETE';
  }): Promise<Http2Result> {
    const { token, nowMs, environment, origin = origins[environment] } = this.options;
    const { ca, findAddresses, onEvent } = this.options;
    this.client ??= new Http2Client({
      origin,
      ca,
      connectionsMax: 1,
      streamsPerConnectionMax: STREAMS_MAX,
      waitingMax: WAITING_MAX,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      idleCloseMs: IDLE_CLOSE_MS,
      findAddresses,
      onEvent,
    });
    const { bundleId, fields, body, method } = request;
    return this.client.send({
      method,
      path: `/1/apps/${encodeURIComponent(bundleId)}/channels`,
      fields: [token.at(nowMs()), ...fields],
      body: Buffer.from(body),
    });
  }
}

export const CHANNEL_FIELD = 'apns-channel-id';

/** Why Apple has not done it; `undefined`: it has. */
function refusalIn(
  result: Http2Result,
  wanted: number,
): { readonly result: 'refused'; readonly why: string } | undefined {
  if (result.result !== 'answered') return { result: 'refused', why: result.why };
  if (result.status === wanted) return undefined;
  const { reason } = readJsonObject(result.body) ?? {};
  const isKnown = typeof reason === 'string' && /^[A-Za-z0-9]{1,64}$/.test(reason);
  return { result: 'refused', why: isKnown ? reason : `http-${result.status}` };
}
