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

/** The limit of bytes decoded in one step, if lines are not longer. */
const BLOCK_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Reads what `encodeSaved` wrote. Throws if it is something else. */
export function* decodeSaved(bytes: Uint8Array): Generator<SavedChannel | SavedEvent> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let start = 0; start < bytes.length; ) {
    const inBlock = bytes.lastIndexOf(NEWLINE, start + BLOCK_BYTES);
    const end = inBlock >= start ? inBlock : bytes.indexOf(NEWLINE, start);
    if (end < 0) throw new Error('the last line has no end');
    for (const line of decoder.decode(bytes.slice(start, end)).split('\n')) {
      yield readLine(JSON.parse(line));
    }
    start = end + 1;
  }
}

/** Checked by hand, because a restart waits for hundreds of thousands of lines. */
function readLine(line: unknown): SavedChannel | SavedEvent {
  if (!Array.isArray(line)) throw new Error('a line is no array');
  const [kind, appId, channel, id, timeMs, except, frame] = line;
  if (typeof appId !== 'string') throw new Error('a line has no id of an app');
  const where = { appId, channel: channelText(channel) };
  if (kind === 'c' && line.length === 4) return { kind: 'channel', ...where, before: eventId(id) };
  if (kind !== 'e' || line.length !== 7) throw new Error('a line has another shape');
  if (!Number.isFinite(timeMs)) throw new Error('an event has no time');
  const itsId = eventId(id);
  if (typeof frame !== 'string' || !frame.endsWith(`,"id":"${itsId}"}`)) {
    throw new Error('the frame of an event has another id');
  }
  const excepted = except === null ? undefined : socketId(except);
  return { kind: 'event', ...where, id: itsId, timeMs, except: excepted, frame };
}

function channelText(text: unknown): ChannelText {
  const parsed = typeof text === 'string' ? parseChannelName(text) : undefined;
  if (parsed?.ok !== true) throw new Error('a line has no name of a channel');
  return parsed.channel.text;
}

function eventId(text: unknown): EventId {
  const id = typeof text === 'string' ? parseEventId(text) : undefined;
  if (id === undefined) throw new Error('a line has no id of an event');
  return id;
}

function socketId(text: unknown): SocketId {
  const id = typeof text === 'string' ? parseSocketId(text) : undefined;
  if (id === undefined) throw new Error('a line has no socket id');
  return id;
}
