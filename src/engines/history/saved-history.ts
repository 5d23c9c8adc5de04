import { z } from 'zod';
import { type ChannelText, parseChannelName } from '../../channels/channel-name.ts';
import { type EventId, parseEventId } from '../../channels/history/event-id.ts';
import { parseSocketId, type SocketId } from '../../channels/socket-id.ts';

/** A saved history: its channel, and the event before its first kept one. */
export interface SavedChannel {
  readonly kind: 'channel';
  readonly appId: string;
  readonly channel: ChannelText;
  readonly before: EventId;
}

/** A kept event. The events of a channel follow its entry, oldest first. */
export interface SavedEvent {
  readonly kind: 'event';
  readonly appId: string;
  readonly channel: ChannelText;
  readonly id: EventId;
  readonly timeMs: number;
  readonly except: SocketId | undefined;
  readonly frame: string;
}

const CHANNEL = z.tuple([z.literal('c'), z.string(), z.string(), z.string()]);
const EVENT = z.tuple([
  z.literal('e'),
  z.string(),
  z.string(),
  z.string(),
  z.number(),
  z.string().nullable(),
  z.string(),
]);

/** The limit of characters encoded in one step. */
const BLOCK_CHARACTERS = 64 * 1024;

/** Writes histories as lines of JSON. */
export function encodeSaved(saved: Iterable<SavedChannel | SavedEvent>): Uint8Array {
  const encoder = new TextEncoder();
  const blocks: Uint8Array[] = [];
  let text = '';
  const flush = () => {
    blocks.push(encoder.encode(text));
    text = '';
  };
  for (const one of saved) {
    text += `${JSON.stringify(lineOf(one))}\n`;
    if (text.length > BLOCK_CHARACTERS) flush();
  }
  flush();
  return Buffer.concat(blocks);
}

function lineOf(one: SavedChannel | SavedEvent): readonly unknown[] {
  if (one.kind === 'channel') return ['c', one.appId, one.channel, one.before];
  const { appId, channel, id, timeMs, except, frame } = one;
  return ['e', appId, channel, id, timeMs, except ?? null, frame];
}

/** Reads what `encodeSaved` wrote. Throws if the text is not that. */
export function* decodeSaved(bytes: Uint8Array): Generator<SavedChannel | SavedEvent> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0) throw new Error('the last line has no end');
    yield readLine(JSON.parse(decoder.decode(bytes.slice(start, end))));
    start = end + 1;
  }
}

const NEWLINE = 0x0a;

function readLine(line: unknown): SavedChannel | SavedEvent {
  const asChannel = CHANNEL.safeParse(line);
  if (asChannel.success) {
    const [, appId, channel, before] = asChannel.data;
    return { kind: 'channel', appId, channel: channelText(channel), before: eventId(before) };
  }
  const [, appId, channel, id, timeMs, except, frame] = EVENT.parse(line);
  if (!frame.endsWith(`,"id":"${id}"}`)) throw new Error('the frame of an event has another id');
  return {
    kind: 'event',
    appId,
    channel: channelText(channel),
    id: eventId(id),
    timeMs,
    except: except === null ? undefined : socketId(except),
    frame,
  };
}

function channelText(text: string): ChannelText {
  const parsed = parseChannelName(text);
  if (!parsed.ok) throw new Error('a line has no name of a channel');
  return parsed.channel.text;
}

function eventId(text: string): EventId {
  const id = parseEventId(text);
  if (id === undefined) throw new Error('a line has no id of an event');
  return id;
}

function socketId(text: string): SocketId {
  const id = parseSocketId(text);
  if (id === undefined) throw new Error('a line has no socket id');
  return id;
}
