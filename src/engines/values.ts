import type { Append, AppendOutcome } from '../channels/appending/append.ts';
import { type Placed, placePiece } from '../channels/appending/place-piece.ts';
import { pieceData } from '../channels/appending/value-frames.ts';
import { CACHE_TTL_MS, type Topic, topicOf } from '../channels/event.ts';
import type { EventId } from '../channels/history/event-id.ts';
import { historyRuleOf } from '../channels/history/history-rule.ts';
import type { Broadcast } from '../channels/ports.ts';
import { eventMessage } from '../channels/wire.ts';
import type { Clock } from '../runtime/ports.ts';
import { type EventCache, GrowingValue, type RememberedEvent } from './event-cache.ts';
import type { Histories } from './history/histories.ts';

export interface ValuesOptions {
  readonly cache: EventCache;
  readonly histories: Pick<Histories, 'append'>;
  readonly clock: Clock;
  readonly send: (broadcast: Broadcast) => void;
  /** A channel that remembered nothing does now. */
  readonly onBegun: (topic: Topic) => void;
}

/** The values that the cache channels of a home remember, and that producers append to. */
export class Values {
  private readonly options: ValuesOptions;

  constructor(options: ValuesOptions) {
    this.options = options;
  }

  /** See `Authority.append`. */
  append(append: Append): AppendOutcome {
    const { app, channel, piece, bytesMax } = append;
    const topic = topicOf(app, channel);
    const remembered = this.options.cache.get(topic);
    const placed = placePiece(remembered?.value?.head, piece, bytesMax);
    switch (placed.does) {
      case 'refuse':
        return placed.refusal;
      case 'repeat':
        return outcomeOf('repeated', remembered);
      case 'begin':
      case 'add':
        return this.grow(append, topic, { placed, remembered });
      default:
        return placed satisfies never;
    }
  }

  /** See `Authority.stopValue`. */
  stop(topic: Topic, id: string): AppendOutcome {
    const remembered = this.options.cache.get(topic);
    const value = remembered?.value;
    if (value?.head.id !== id || value.head.hasEnded) return { result: 'unknown' };
    value.isStopped = true;
    return outcomeOf('sent', remembered);
  }

  private grow(
    append: Append,
    topic: Topic,
    {
      placed,
      remembered,
    }: {
      readonly placed: Extract<Placed, { does: 'begin' | 'add' }>;
      readonly remembered: RememberedEvent | undefined;
    },
  ): AppendOutcome {
    const { app, channel, name, trace, piece } = append;
    const { head, text } = placed;
    const known = remembered?.value;
    const value =
      placed.does === 'add' && known !== undefined
        ? known
        : new GrowingValue(head, known?.head.id === head.id && known.isStopped);
    const expiresAt = this.options.clock.now() + CACHE_TTL_MS;
    const event = { name, data: '', value, expiresAt };
    const { cache } = this.options;
    const isNew = value !== known;
    if (isNew && !cache.put(topic, event)) return { result: 'no-room' };
    if (!cache.grow(topic, event, text)) {
      if (isNew) cache.remove(topic);
      return { result: 'no-room' };
    }
    if (isNew) this.options.onBegun(topic);
    value.head = head;
    const sent = { ...piece, at: head.length - text.length, text };
    const frame = (id?: EventId) => eventMessage(name, channel.text, pieceData(sent), id);
    const broadcast = { app, channel: channel.text, cause: 'backend', trace } as const;
    if (!head.hasEnded) {
      if (text !== '') this.options.send({ ...broadcast, makeFrame: frame });
      return outcomeOf('sent', event);
    }
    const ended = { ...event, id: this.keep(append, value) };
    // It has the id now.
    cache.grow(topic, ended, '');
    const last = frame(ended.id);
    this.options.send({ ...broadcast, makeFrame: () => last });
    return outcomeOf('sent', ended);
  }

  /** Keeps the whole value in the history of its channel, if there is one. */
  private keep({ app, channel, name }: Append, value: GrowingValue): EventId | undefined {
    const rule = historyRuleOf(app, channel.text);
    if (rule === undefined) return undefined;
    const data = dataOf(value);
    const makeFrame = (id?: EventId) => eventMessage(name, channel.text, data, id);
    return this.options.histories.append({ app, channel: channel.text, makeFrame }, rule).id;
  }
}

/** The data of the event that the whole value is. */
export function dataOf({ head, text }: GrowingValue): string {
  return pieceData({ id: head.id, at: 0, text: text.toString(), isLast: head.hasEnded });
}

function outcomeOf(
  result: 'sent' | 'repeated',
  remembered: RememberedEvent | undefined,
): AppendOutcome {
  const { head, isStopped = false } = remembered?.value ?? {};
  return { result, length: head?.length ?? 0, isStopped, eventId: remembered?.id };
}
