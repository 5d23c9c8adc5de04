import type { App } from '../../../channels/app.ts';
import { isValueId, type Piece } from '../../../channels/appending/append.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { isGiven, isJsonObject } from '../../../runtime/json-object.ts';
import { ApiRefusal, invalid } from '../problems.ts';

/** What a producer wants of a value: to add a piece, or that it is stopped. */
export type AppendRequest =
  | { readonly wants: 'piece'; readonly piece: Piece }
  | { readonly wants: 'stop'; readonly id: string };

/** The event that a piece belongs to, as far as it is read. */
export interface AppendedEvent {
  readonly app: App;
  readonly channels: readonly ChannelName[];
  /** `undefined`: it is no text. */
  readonly text: string | undefined;
  /** The fields that exclude an append, if they are given. */
  readonly others: { readonly [name in 'socket_id' | 'idempotency_key' | 'info']: unknown };
}

/** Reads the field `append` of an event. */
export function readAppend(value: unknown, event: AppendedEvent): AppendRequest | ApiRefusal {
  const { app, channels, text, others } = event;
  if (!isJsonObject(value)) return invalid('append: must be an object');
  if (app.limits.appendBytes === 0) return invalid('append: limits.appendBytes of the app is 0');
  const [channel] = channels;
  if (channel === undefined || channels.length > 1) return invalid('append: only to one channel');
  if (!channel.cached || channel.kind === 'encrypted') {
    return invalid(`append: ${channel.text} is no cache channel, or is encrypted`);
  }
  for (const [name, other] of Object.entries(others)) {
    if (isGiven(other) && other !== '') return invalid(`append: not together with ${name}`);
  }
  if (text === undefined || !text.isWellFormed()) {
    return invalid('data: with append, it must be text without unpaired surrogates');
  }
  const { id, at } = value;
  if (!isValueId(id)) return invalid('append.id: must be 1 to 64 of A-Z a-z 0-9 _ -');
  const stop = readFlag(value, 'stop');
  if (stop instanceof ApiRefusal) return stop;
  const end = readFlag(value, 'end');
  if (end instanceof ApiRefusal) return end;
  if (stop.isSet) {
    return isGiven(at) || end.isSet || text !== ''
      ? invalid('append.stop: not together with data, append.at or append.end')
      : { wants: 'stop', id };
  }
  if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0) {
    return invalid('append.at: must be a whole number, 0 or more');
  }
  return { wants: 'piece', piece: { id, at, text, isLast: end.isSet } };
}

function readFlag(
  append: Readonly<Record<string, unknown>>,
  name: 'end' | 'stop',
): { readonly isSet: boolean } | ApiRefusal {
  const value = append[name];
  if (isGiven(value) && typeof value !== 'boolean') {
    return invalid(`append.${name}: must be true or false`);
  }
  return { isSet: value === true };
}
