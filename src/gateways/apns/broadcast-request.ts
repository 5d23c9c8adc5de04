import {
  type HeaderField,
  keptField,
  plainField,
} from '../../outgoing/http2/hpack/header-field.ts';
import type { ApnsHeaders } from '../../push/messages/apns-message.ts';
import { CHANNEL_FIELD } from './channels.ts';

/** A channel, as Apple knows it. */
export interface ChannelAddress {
  readonly id: string;
  /** Whether Apple keeps the latest message for devices that are offline. */
  readonly keepsLatest: boolean;
}

/** How long Apple keeps a message whose publish does not say: as long as an activity is updated. */
const KEPT_SECONDS = 8 * 3600;

/** The path for all channels of an app. Source: Apple, "Sending broadcast push notification requests to APNs". */
export function broadcastPath(bundleId: string): string {
  return `/4/broadcasts/apps/${encodeURIComponent(bundleId)}`;
}

/** The header fields of a publish for one channel. It has no topic: the path names the app. */
export function broadcastFields(
  { pushType, priority, expiration }: ApnsHeaders,
  { id, keepsLatest }: ChannelAddress,
  {
    acceptedAtMs,
    authorization,
  }: { readonly acceptedAtMs: number; readonly authorization: HeaderField },
): readonly HeaderField[] {
  const untilSeconds = expiration ?? Math.floor(acceptedAtMs / 1000) + KEPT_SECONDS;
  return [
    authorization,
    plainField(CHANNEL_FIELD, id),
    keptField('apns-push-type', pushType),
    ...(priority === undefined ? [] : [keptField('apns-priority', String(priority))]),
    // Apple refuses anything but 0 for a channel that keeps nothing.
    plainField('apns-expiration', String(keepsLatest ? untilSeconds : 0)),
  ];
}
