import type { Append, AppendOutcome, Piece } from '../../channels/appending/append.ts';
import { frameBytesMax } from '../../channels/appending/place-piece.ts';
import { endedValueFrame, pieceData, textInFrame } from '../../channels/appending/value-frames.ts';
import { EngineUnavailable } from '../../channels/engine-failure.ts';
import { topicOf } from '../../channels/event.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { eventMessage } from '../../channels/wire.ts';
import { historyToKeep } from './history/kept-history.ts';
import type { Reply } from './link/reply.ts';
import { eventText } from './topics/stream-message.ts';

/** How often a piece is cut: once, unless another producer appends to the same value. */
const CUTS_MAX = 3;

export interface AppendCalls {
  /** Runs `APPEND`. */
  readonly run: (args: readonly (string | number)[]) => Promise<readonly Reply[]>;
  /** The lifetime of a value in milliseconds, and how many events and bytes a partition may hold. */
  readonly cachedMax: readonly number[];
  /** The limit of all histories on all servers. Bytes. */
  readonly historyBytes: number;
  /** How many events of histories were forgotten. */
  readonly onForgotten: (forgotten: Reply | undefined) => void;
}

/** Adds a piece to a value in Redis, which knows lengths in UTF-16 units only from here. */
export async function appendInRedis(append: Append, calls: AppendCalls): Promise<AppendOutcome> {
  let { piece } = append;
  for (let cuts = 0; ; cuts++) {
    const [result, ...rest] = await calls.run(argsOf(append, piece, calls));
    if (result !== 'overlap') {
      calls.onForgotten(rest[3]);
      return readAppended(result, rest);
    }
    if (cuts === CUTS_MAX) throw new EngineUnavailable('Several producers append to one value');
    const length = Number(rest[0]);
    const text = piece.text.slice(length - piece.at);
    if (!text.isWellFormed()) return { result: 'within-character' };
    piece = { ...piece, at: length, text };
  }
}

/** Reads what `APPEND` and `STOP` return. */
export function readAppended(result: Reply | undefined, rest: readonly Reply[]): AppendOutcome {
  const [first, stop, id] = rest;
  switch (result) {
    case 'sent':
    case 'repeated': {
      const eventId = id === '' ? undefined : (id as EventId);
      return { result, length: Number(first), isStopped: stop === '1', eventId };
    }
    case 'ahead':
      return { result, length: Number(first) };
    case 'replaced':
      return { result, by: String(first) };
    case 'ended':
    case 'unknown':
    case 'too-large':
    case 'no-room':
      return { result };
    default:
      throw new EngineUnavailable(`Redis says: ${String(result)}`);
  }
}

function argsOf(
  { app, channel, name, bytesMax, trace }: Append,
  piece: Piece,
  { cachedMax, historyBytes }: AppendCalls,
): readonly (string | number)[] {
  const { id, at, text, isLast } = piece;
  const event = { app, channel: channel.text, cause: 'backend', except: undefined, trace } as const;
  const messageOf = (frame: string) => eventText(frame, { ...event, ask: undefined });
  const history = isLast ? historyToKeep(event, historyBytes) : '';
  const [before, after] = history === '' ? ['', ''] : endedValueFrame(name, channel.text, id);
  return [
    topicOf(app, channel),
    app.id,
    ...cachedMax,
    bytesMax,
    frameBytesMax(bytesMax),
    id,
    name,
    at,
    text.length,
    Buffer.byteLength(text),
    textInFrame(text),
    isLast ? '1' : '',
    messageOf(eventMessage(name, channel.text, pieceData(piece))),
    history,
    history === '' ? '' : messageOf(before),
    after,
  ];
}
