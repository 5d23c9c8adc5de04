import type { ChannelText } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { channelIn, eventIdIn, isOfProtocol, readConfirmation } from '../../channels/wire.ts';
import { placeText, type ReaderPlace } from './places.ts';

/*
 * Frames as server-sent events. A frame is JSON without line ends, so it always fits one `data:` line, and no name and no data
 * can break the stream.
 */

/** The first line of a stream: after a cut, EventSource comes back in two seconds. */
export const FIRST = 'retry: 2000\n\n';

/** The first line of a stream that ends at once: EventSource tries again in five seconds, as after no other status than 200. */
export const TRY_LATER = 'retry: 5000\n\n';

/** A comment, which shows the client and every proxy that the connection is alive. */
export const KEEP_ALIVE = ':\n\n';

/** The frame of a message of the protocol. */
export function protocolText(frame: string): string {
  return `event: pusher\ndata: ${frame}\n\n`;
}

let lastFrame = '';
let lastText = '';

/** An event for a reader of one channel. The same frame goes to many readers, so the last text is kept. */
function textForOne(frame: string): string {
  // Equal references are compared first, which makes this cheap.
  if (frame !== lastFrame) {
    const id = eventIdIn(frame);
    lastText = id === undefined ? dataOf(frame) : `id: ${id}\n${dataOf(frame)}`;
    lastFrame = frame;
  }
  return lastText;
}

function dataOf(frame: string): string {
  return `data: ${frame}\n\n`;
}

/** Writes the frames of one reader, with the place that it has reached in each of its channels. */
export class StreamText {
  private readonly channels: readonly ChannelText[];
  private readonly places: (EventId | '')[];

  /** `places`: those that were given, in the order of the channels. */
  constructor(channels: readonly ChannelText[], places: readonly ReaderPlace[]) {
    this.channels = channels;
    this.places = places.map(placeText);
  }

  of(frame: string): string {
    if (isOfProtocol(frame)) return this.confirmation(frame);
    if (this.channels.length === 1) return textForOne(frame);
    const id = eventIdIn(frame);
    if (id === undefined) return dataOf(frame);
    this.reach(channelIn(frame), id);
    return `${this.idLine()}${dataOf(frame)}`;
  }

  /**
   * A confirmation has the new place only if nothing is missed. Otherwise the given one stays until what is missed was sent, or the
   * gap: whoever is cut off in between must learn of it again.
   */
  private confirmation(frame: string): string {
    const confirmation = readConfirmation(frame);
    if (confirmation === undefined) return protocolText(frame);
    const { id, missed, why } = confirmation;
    const channel = channelIn(frame);
    if (why === undefined && missed === 0) this.reach(channel, id);
    const confirmed = `event: pusher\n${this.idLine()}data: ${frame}\n\n`;
    if (why === undefined) return confirmed;
    this.reach(channel, id);
    const gap = JSON.stringify({ channel, why, id });
    return `${confirmed}event: gap\n${this.idLine()}data: ${gap}\n\n`;
  }

  private reach(channel: string | undefined, id: EventId | ''): void {
    const at = this.channels.indexOf(channel as ChannelText);
    if (at >= 0) this.places[at] = id;
  }

  private idLine(): string {
    const isAnywhere = this.places.some((place) => place !== '');
    return isAnywhere ? `id: ${this.places.join(',')}\n` : '';
  }
}
