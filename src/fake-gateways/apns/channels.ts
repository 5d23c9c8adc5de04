import { randomBytes } from 'node:crypto';
import { isJsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { activityFault } from './activity-check.ts';

/** What the fake answers about channels. Source: Apple, "Sending channel management requests to APNs". */
export type ChannelFault =
  | 'BadChannelId'
  | 'BadExpirationDate'
  | 'BadPriority'
  | 'BadRequestPayload'
  | 'CannotCreateChannelConfig'
  | 'ChannelNotRegistered'
  | 'InvalidPushType'
  | 'MethodNotAllowed'
  | 'MissingChannelId'
  | 'PayloadTooLarge';

/** The status of each fault. */
export const channelStatuses: Readonly<Record<ChannelFault, number>> = {
  BadChannelId: 400,
  BadExpirationDate: 400,
  BadPriority: 400,
  BadRequestPayload: 400,
  CannotCreateChannelConfig: 400,
  ChannelNotRegistered: 400,
  InvalidPushType: 400,
  MissingChannelId: 400,
  MethodNotAllowed: 405,
  PayloadTooLarge: 413,
};

/** As Apple allows for an app. */
const CHANNELS_MAX = 10_000;

const PAYLOAD_BYTES_MAX = 5120;

const BASE64 = /^[A-Za-z0-9+/]{22}==$/;

interface Channel {
  readonly bundleId: string;
  readonly keepsLatest: boolean;
}

interface Asked {
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

type ChannelAnswer =
  | { readonly fault: ChannelFault }
  | { readonly status: 200 | 201 | 204; readonly channel?: string };

/** The broadcast channels of all apps at the fake of Apple. */
export class FakeChannels {
  private readonly channels = new Map<string, Channel>();

  /** Answers a request to create or delete a channel. */
  manage(bundleId: string, { fields, body }: Asked): ChannelAnswer {
    switch (fields.get(':method')) {
      case 'POST':
        return this.create(bundleId, body);
      case 'DELETE': {
        const id = this.idOf(bundleId, fields);
        if (typeof id !== 'string') return id;
        this.channels.delete(id);
        return { status: 204 };
      }
      default:
        return { fault: 'MethodNotAllowed' };
    }
  }

  /** Answers a message to all devices of a channel. */
  broadcast(bundleId: string, { fields, body }: Asked): ChannelAnswer {
    if (fields.get(':method') !== 'POST') return { fault: 'MethodNotAllowed' };
    const id = this.idOf(bundleId, fields);
    if (typeof id !== 'string') return id;
    if (fields.get('apns-push-type') !== 'liveactivity') return { fault: 'InvalidPushType' };
    if (!['10', '5'].includes(fields.get('apns-priority') ?? '10')) return { fault: 'BadPriority' };
    const expiration = fields.get('apns-expiration') ?? '';
    const keepsLatest = this.channels.get(id)?.keepsLatest === true;
    if (!/^\d{1,16}$/.test(expiration) || (expiration !== '0' && !keepsLatest)) {
      return { fault: 'BadExpirationDate' };
    }
    if (body.length > PAYLOAD_BYTES_MAX) return { fault: 'PayloadTooLarge' };
    const { event } = apsOf(body);
    if (event === 'start' || activityFault(body)) return { fault: 'BadRequestPayload' };
    return { status: 200 };
  }

  private create(bundleId: string, body: Uint8Array): ChannelAnswer {
    const { 'message-storage-policy': policy, 'push-type': type } = readJsonObject(body) ?? {};
    if (type !== 'LiveActivity') return { fault: 'InvalidPushType' };
    if (policy !== 0 && policy !== 1) return { fault: 'BadRequestPayload' };
    if (this.channels.size >= CHANNELS_MAX) return { fault: 'CannotCreateChannelConfig' };
    const channel = randomBytes(16).toString('base64');
    this.channels.set(channel, { bundleId, keepsLatest: policy === 1 });
    return { status: 201, channel };
  }

  private idOf(
    bundleId: string,
    fields: Asked['fields'],
  ): string | { readonly fault: ChannelFault } {
    const id = fields.get('apns-channel-id') ?? '';
    if (id === '') return { fault: 'MissingChannelId' };
    if (!BASE64.test(id)) return { fault: 'BadChannelId' };
    return this.channels.get(id)?.bundleId === bundleId ? id : { fault: 'ChannelNotRegistered' };
  }
}

function apsOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  const aps = readJsonObject(body)?.['aps'];
  return isJsonObject(aps) ? aps : {};
}
